//! Streams of one call that join and leave, over sockets.

use crate::call::{flow, loaded};
use crate::ends::{Ends, run};
use crate::lateness::judge_on_time;
use paceline_metrics::TimeSeries;

const CALL: &str = r#"
duration = "3s"
sample = "100ms"
[links.l]
rate = "10Mbps"
queue = { packets = 200 }
[flows.f]
path = ["l"]
controller = "scream"
[flows.f.streams.camera]
source = { kind = "cbr", rate = "1Mbps", fps = 50 }
stop = "2s"
[flows.f.streams.screen]
source = { kind = "cbr", rate = "600kbps", fps = 50 }
start = "1s"
[flows.f.streams.audio]
source = { kind = "cbr", rate = "64kbps", fps = 50 }
"#;

/// Mbit/s of a stream that arrived in each of three seconds, but for their first and last two tenths.
fn seconds(series: &TimeSeries, stream: &str) -> [f64; 3] {
    let (streams, values) =
        (series.text("stream").expect("a column"), series.float("throughput_mbps").expect("a column"));
    let mine = (0..series.rows()).filter(|row| streams.value(*row) == Some(stream));
    let rates: Vec<f64> = mine.map(|row| values.value(row).unwrap_or(0.0)).collect();
    [0, 1, 2].map(|second| rates[second * 10 + 2..second * 10 + 8].iter().sum::<f64>() / 6.0)
}

#[test]
fn each_stream_is_there_from_its_start_to_its_stop() {
    judge_on_time(none_is_lost, have_their_rates);
}

fn none_is_lost() -> Ends {
    let ends = run(&loaded(CALL), |_, _, _| ());
    let received = flow(&ends.receiver);
    assert_eq!((received.loss_ratio, ends.receiver.counters.unknown_ssrc), (Some(0.0), 0));
    assert_eq!(
        ends.sender.counters.unknown_reports, 0,
        "what is under way of a stream that left is reported on"
    );
    ends
}

fn have_their_rates(ends: &Ends) {
    for (stream, rate, there) in
        [("camera", 1.0, [1, 1, 0]), ("screen", 0.6, [0, 1, 1]), ("audio", 0.07, [1; 3])]
    {
        let found = seconds(&ends.receiver.flows, stream);
        for (found, there) in found.into_iter().zip(there) {
            let expected = rate * f64::from(there);
            assert!((found - expected).abs() <= 0.2 * rate, "{stream}: {found} Mbit/s, expected {expected}");
        }
    }
}
