//! Samples of a run, as a page draws them: by flow or link, a list for each column.

use paceline_metrics::TimeSeries;
use serde::Serialize;
use std::collections::BTreeMap;

/// Columns of a flow that are drawn.
pub(crate) const OF_FLOWS: [&str; 5] =
    ["target_bitrate_mbps", "throughput_mbps", "queue_delay_ms", "send_queue_delay_ms", "srtt_ms"];
/// Columns of a link that are drawn.
pub(crate) const OF_LINKS: [&str; 1] = ["capacity_mbps"];

/// Samples of one flow or link: a list for each column, `time_s` among them.
pub(crate) type Samples = BTreeMap<&'static str, Vec<Option<f64>>>;

/// The rows after `after` seconds of each flow or link, which the column `key` names, in order of time. Rates of a flow's streams
/// are added up; of anything else, its first stream's value stands.
pub(crate) fn samples<'s>(
    series: &'s TimeSeries,
    key: &str,
    wanted: &[&'static str],
    after: f64,
) -> BTreeMap<&'s str, Samples> {
    let mut found: BTreeMap<&str, Samples> = BTreeMap::new();
    let (Some(times), Some(names)) = (series.float("time_s"), series.text(key)) else { return found };
    let columns: Vec<_> = wanted.iter().filter_map(|name| Some((*name, series.float(name)?))).collect();
    for row in 0..series.rows() {
        let (Some(time), Some(name)) = (times.value(row).filter(|time| *time > after), names.value(row))
        else {
            continue;
        };
        let samples = found.entry(name).or_default();
        let times = samples.entry("time_s").or_default();
        let is_another_stream = times.last() == Some(&Some(time));
        if !is_another_stream {
            times.push(Some(time));
        }
        for (name, values) in &columns {
            let (value, cells) = (values.value(row), samples.entry(name).or_default());
            match cells.last_mut() {
                Some(sum) if is_another_stream => {
                    if let (true, Some(value)) = (name.ends_with("_mbps"), value) {
                        *sum = Some(sum.unwrap_or(0.0) + value);
                    }
                }
                _ => cells.push(value),
            }
        }
    }
    found
}

/// The samples of a run.
#[derive(Serialize)]
pub(crate) struct Rows<'s> {
    pub flows: BTreeMap<&'s str, Samples>,
    pub links: BTreeMap<&'s str, Samples>,
}
