//! Named networks: links that were described by somebody who measured them, for `network = "NAME"` in a scenario's link.
//!
//! Where each number comes from is said beside it; the rules by which they were derived from the tables of one paper, and where that
//! paper contradicts itself, stand in `docs/networks.md`. None was chosen by what a controller does on it.

/// A key of a link as a network has it.
#[derive(Clone, Copy, Debug)]
pub struct Given {
    /// Name of the key in `[links.NAME]`.
    pub key: &'static str,
    /// Its value as TOML.
    pub value: &'static str,
    /// Where it comes from: the paper's table and row, or that it is assumed.
    pub source: &'static str,
    /// How it follows from the source, in a line.
    pub why: &'static str,
}

/// A link under a name.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its description, in a line.
    pub help: &'static str,
    /// Its keys of a link.
    pub keys: &'static [Given],
}

impl Network {
    /// Its keys as TOML, for a table `[links.NAME]`.
    pub fn toml(&self) -> String {
        self.keys.iter().map(|given| format!("{} = {}\n", given.key, given.value)).collect()
    }
}

const fn given(key: &'static str, value: &'static str, source: &'static str, why: &'static str) -> Given {
    Given { key, value, source, why }
}

const CAPACITY: &str = "The largest rate of any row, or of the flows of a row together";
const BUFFER: &str = "Capacity x (largest 90 % delay of NewReno and TFRC - mean noise)";
const ASSUMED: &str = "assumed: the paper prints none";
const URCP_LOSS: &str = "The loss of URCP, whose queue never fills the buffer; in bursts, assumed";

/// Every network: the six of Xie, Mehrotra, Li and Hu, "URCP: Universal Rate Control Protocol for Real-Time Communication
/// Applications", 2013, and what the text says of one of them against its tables.
pub const NETWORKS: &[Network] = &[
    Network {
        name: "adsl",
        help: "ADSL uplink (URCP 2013): slow, clean, a buffer of 1.3 s",
        keys: &[
            given("rate", "\"842kbps\"", "URCP 2013 Table III, ADSL: R_MAX 841.9 kbit/s", CAPACITY),
            given("delay", "\"15ms\"", ASSUMED, "An interleaved ADSL line and a near server"),
            given(
                "queue",
                "{ kind = \"droptail\", bytes = \"136kB\" }",
                "URCP 2013 Table II, ADSL: NewReno 1295 ms",
                BUFFER,
            ),
            given(
                "noise",
                "{ kind = \"gamma\", mean = \"5ms\", shape = 4 }",
                "URCP 2013 Table III, ADSL: initial delta_MIN 5 ms; shape assumed",
                "The average at a low rate is the mean noise",
            ),
            given(
                "loss",
                "{ kind = \"gilbert-elliott\", p = 0.00110243, r = 0.5 }",
                "URCP 2013 Table II, ADSL: URCP 0.0022",
                URCP_LOSS,
            ),
        ],
    },
    Network {
        name: "cable",
        help: "Cable modem uplink (URCP 2013): noise near 0, a buffer of 0.8 s",
        keys: &[
            given("rate", "\"1040kbps\"", "URCP 2013 Table II, cable: UM 1039.2 kbit/s", CAPACITY),
            given("delay", "\"10ms\"", ASSUMED, "A cable network and a near server"),
            given(
                "queue",
                "{ kind = \"droptail\", bytes = \"108kB\" }",
                "URCP 2013 Table II, cable: TFRC 830 ms",
                BUFFER,
            ),
            given(
                "noise",
                "{ kind = \"grant\", period = \"4ms\" }",
                "URCP 2013 section II: about 0; Table II, cable: WebRTC, at 28 % of the capacity, 2 ms and 3 ms",
                "DOCSIS sends by grants; uniform with mean 2 ms has its 90 % at 3.6 ms",
            ),
            given(
                "loss",
                "{ kind = \"gilbert-elliott\", p = 0.00060072, r = 0.5 }",
                "URCP 2013 section II: loss noise 0.0012",
                "The text's measurement; in bursts of 2 packets, assumed",
            ),
        ],
    },
    Network {
        name: "ethernet-limited",
        help: "Ethernet with a rate limit (URCP 2013): fast, near, clean, a buffer of 7 ms",
        keys: &[
            given("rate", "\"9219kbps\"", "URCP 2013 Table II, Ethernet: NewReno 9218.1 kbit/s", CAPACITY),
            given(
                "delay",
                "\"500us\"",
                "assumed; URCP 2013 Table II, Ethernet: NewReno's loss of 0.025 at this rate means a round trip of 8 ms, 7 ms of it in the queue",
                "A server in the same building",
            ),
            given(
                "queue",
                "{ kind = \"droptail\", bytes = \"7248B\" }",
                "URCP 2013 Table II, Ethernet: NewReno 6.98 ms",
                BUFFER,
            ),
            given(
                "noise",
                "{ kind = \"gamma\", mean = \"690us\", shape = 4 }",
                "URCP 2013 Table III, Ethernet: lowest mean delay 0.69 ms, below the initial delta_MIN of 1 ms; shape assumed",
                "No delay measured is below the noise",
            ),
        ],
    },
    Network {
        name: "wifi-hotspot",
        help: "Public Wi-Fi hot spot (URCP 2013): a capacity that varies, other stations, losses",
        keys: &[
            given(
                "rate",
                "{ generator = \"mmwave\", interval = \"100ms\", repeat = true, length = \"1800s\", states = [\
                 { name = \"crowded\", rates = [\"450kbps\", \"550kbps\"], correlation = \"1s\", dwell = \"10s\", next = { free = 1 } }, \
                 { name = \"free\", rates = [\"600kbps\", \"700kbps\"], correlation = \"1s\", dwell = \"8s\", next = { crowded = 1 } }] }",
                "URCP 2013 Table II, Wi-Fi: full buffers at 501.7 and 515.6 kbit/s; Table IV: two flows 567.6; Table III: R_MAX 600.2; times assumed",
                "500 kbit/s for 10 s and 650 kbit/s for 8 s in the mean, which is 567 kbit/s",
            ),
            given("delay", "\"10ms\"", ASSUMED, "A hot spot's uplink and a near server"),
            given(
                "queue",
                "{ kind = \"droptail\", bytes = \"27kB\" }",
                "URCP 2013 Table II, Wi-Fi: NewReno 403 ms",
                BUFFER,
            ),
            given(
                "noise",
                "{ kind = \"contention\", busy = \"16ms\", idle = \"4ms\", collision = 0.1 }",
                "URCP 2013 Table II, Wi-Fi: WebRTC 16 ms and 42 ms, the lowest; how the stations share assumed",
                "Others hold the medium 4/5 of the time, assumed; their mean time so that the mean noise is 16 ms with backoff and order kept",
            ),
            given(
                "loss",
                "{ kind = \"gilbert-elliott\", p = 0.00851195, r = 0.333333 }",
                "URCP 2013 Table II, Wi-Fi: URCP 0.0249",
                URCP_LOSS,
            ),
        ],
    },
    Network {
        name: "wimax",
        help: "WiMAX uplink, Clearwire (URCP 2013): noise of 30 ms by grants, a buffer of 2.9 s; loss as in its tables",
        keys: WIMAX,
    },
    Network {
        name: "wimax-lossy",
        help: "The same with the loss noise of the paper's text, 0.0185, which its tables contradict",
        keys: WIMAX_LOSSY,
    },
    Network {
        name: "hspa-plus",
        help: "4G (HSPA+) uplink, T-Mobile (URCP 2013): noise of 30 ms with stalls up to 350 ms, a buffer of 0.4 s",
        keys: &[
            given("rate", "\"1492kbps\"", "URCP 2013 Table II, HSPA+: URCP 1491.9 kbit/s", CAPACITY),
            given("delay", "\"30ms\"", ASSUMED, "A cellular network and a near server"),
            given(
                "queue",
                "{ kind = \"droptail\", bytes = \"69kB\" }",
                "URCP 2013 Table II, HSPA+: NewReno 401 ms",
                BUFFER,
            ),
            given(
                "noise",
                HSPA_NOISE,
                "URCP 2013 section II: mean 30 to 50 ms, largest near 350 ms; processes assumed",
                NOISE_OF_PROCESSES,
            ),
            given(
                "loss",
                "{ kind = \"gilbert-elliott\", p = 0.00074275, r = 0.2 }",
                "URCP 2013 section II: loss noise 0.0037",
                "The text's measurement; in bursts of 5 packets, assumed",
            ),
        ],
    },
];

const NOISE_OF_PROCESSES: &str =
    "A body correlated over 1 s, the frame's grants, retransmission in fades, stalls";

const HSPA_NOISE: &str = "[\
    { kind = \"lognormal\", mean = \"30ms\", std = \"10ms\", correlation = \"1s\" }, \
    { kind = \"grant\", period = \"10ms\" }, \
    { kind = \"retransmission\", p = 0.1, round = \"16ms\", retries = 20, good = \"2s\", bad = \"200ms\", p_bad = 0.5 }, \
    { kind = \"spikes\", every = \"20s\", length = \"150ms\", max = \"330ms\" }]";

const WIMAX_NOISE: &str = "[\
    { kind = \"lognormal\", mean = \"25ms\", std = \"7ms\", correlation = \"1s\" }, \
    { kind = \"grant\", period = \"5ms\", miss = 0.65 }, \
    { kind = \"retransmission\", p = 0.1, round = \"20ms\", retries = 20 }, \
    { kind = \"spikes\", every = \"30s\", length = \"200ms\", max = \"1s\" }]";

const WIMAX_RATE: Given =
    given("rate", "\"473kbps\"", "URCP 2013 Table IV, WiMAX: two flows 472.9 kbit/s", CAPACITY);
const WIMAX_DELAY: Given = given("delay", "\"30ms\"", ASSUMED, "A cellular network and a near server");
const WIMAX_QUEUE: Given = given(
    "queue",
    "{ kind = \"droptail\", bytes = \"171kB\" }",
    "URCP 2013 Table II, WiMAX: NewReno 2926 ms",
    BUFFER,
);
const WIMAX_DELAY_NOISE: Given = given(
    "noise",
    WIMAX_NOISE,
    "URCP 2013 section II: mean 30 to 50 ms; Table II, WiMAX: URCP 26 ms and 41 ms; processes assumed",
    NOISE_OF_PROCESSES,
);

const WIMAX: &[Given] = &[
    WIMAX_RATE,
    WIMAX_DELAY,
    WIMAX_QUEUE,
    WIMAX_DELAY_NOISE,
    given(
        "loss",
        "{ kind = \"gilbert-elliott\", p = 0.00010002, r = 0.5 }",
        "URCP 2013 Table II, WiMAX: URCP 0.0002",
        URCP_LOSS,
    ),
];

const WIMAX_LOSSY: &[Given] = &[
    WIMAX_RATE,
    WIMAX_DELAY,
    WIMAX_QUEUE,
    WIMAX_DELAY_NOISE,
    given(
        "loss",
        "{ kind = \"gilbert-elliott\", p = 0.00942435, r = 0.5 }",
        "URCP 2013 section II: loss noise 0.0185",
        "The text's measurement; in bursts of 2 packets, assumed",
    ),
];
