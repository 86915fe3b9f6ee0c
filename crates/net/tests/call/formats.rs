//! A call under reports of either format.

/// A call over 4 Mbit/s and 40 ms whose reports are in `format`, of one stream or of two.
pub fn scenario(format: &str, streams: usize, seconds: u32, more: &str) -> String {
    let source = "source = { kind = \"cbr\", rate = \"1Mbps\", adaptive = true, fps = 50 }\n";
    let streams = match streams {
        1 => source.to_string(),
        _ => format!(
            "[flows.only.streams.camera]\n{source}[flows.only.streams.screen]\n{source}priority = 2.0\n"
        ),
    };
    format!(
        "duration = \"{seconds}s\"\n[links.bottleneck]\nrate = \"4Mbps\"\ndelay = \"20ms\"\nqueue = {{ packets = 50 }}\n\
         [flows.only]\ncontroller = \"gcc\"\nfeedback = {{ format = \"{format}\", packets = 8 }}\npath = [\"bottleneck\"]\n\
         return_delay = \"20ms\"\n{more}{streams}"
    )
}
