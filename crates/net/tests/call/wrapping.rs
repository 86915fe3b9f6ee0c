//! Calls that begin just before one of their numbers wraps.

use super::loaded;
use paceline_scenario::Loaded;

/// The clock of a receiver that was just started.
const PLAIN: &str = r#"start = "0s""#;

/// Where the numbers of a call begin, and its receiver's clock.
pub struct Beginning {
    rtp: &'static str,
    format: &'static str,
    clock: &'static str,
}

pub const SEQUENCE_NUMBERS: Beginning =
    Beginning { rtp: "first_sequence = 65500", format: "rfc8888", clock: PLAIN };

/// TWCC's numbers, which begin where the first stream's do, and the count of its reports, which has eight bits.
pub const TRANSPORT_WIDE_NUMBERS: Beginning = Beginning { format: "twcc", ..SEQUENCE_NUMBERS };

/// 90,000 ticks before the wrap are a second.
pub const RTP_TIMESTAMPS: [Beginning; 2] = {
    const RTP: &str = "first_sequence = 0, first_timestamp = 4294922296";
    [
        Beginning { rtp: RTP, format: "rfc8888", clock: PLAIN },
        Beginning { rtp: RTP, format: "twcc", clock: PLAIN },
    ]
};

pub const REPORT_TIMESTAMPS: Beginning =
    Beginning { rtp: "ssrc = 4294967295", format: "rfc8888", clock: r#"start = "65535500ms""# };

/// Reference times of TWCC count 64 ms in 24 bits: they wrap after 1,073,741.824 s, more than the longest time of a scenario.
pub const REFERENCE_TIMES: Beginning = Beginning {
    rtp: "ssrc = 4294967295",
    format: "twcc",
    clock: r#"start = "1000000s", clock_steps = [["0s", "73741.312s"]]"#,
};

impl Beginning {
    /// A call of a second and a half that begins so.
    pub fn call(&self) -> Loaded {
        let Beginning { rtp, format, clock } = self;
        loaded(&format!(
            "duration = \"1500ms\"\n[links.l]\nrate = \"10Mbps\"\ndelay = \"5ms\"\nqueue = {{ packets = 100 }}\n[flows.f]\n\
             controller = {{ kind = \"scream\", target_bitrate_start = \"2Mbps\" }}\npath = [\"l\"]\n\
             source = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
             rtp = {{ {rtp} }}\nfeedback = {{ format = \"{format}\", {clock} }}\n"
        ))
    }

    /// The same call whose numbers are far from wrapping.
    pub fn plain(&self) -> Loaded {
        let rtp = "ssrc = 100, first_sequence = 0, first_timestamp = 0";
        Beginning { rtp, format: self.format, clock: PLAIN }.call()
    }
}
