//! Prints docs/endpoint-settings.md: what senders, receivers and streams of the RTP endpoint can be told by name. `make docs` writes
//! the page, `make lint` says when it is stale.

use paceline_endpoint::{IncomingSettings, ReceiverSettings, SenderSettings, StreamSettings};
use paceline_units::param::{Need, ParamSet, Spec};

/// A row of a table: name, default, the allowed values, its effect.
fn row(set: &impl ParamSet, spec: &Spec) -> String {
    let usual = match set.value(spec.name) {
        Some(value) => format!("`{value}`"),
        None if spec.need == Need::Required => "required".into(),
        None => spec.without.into(),
    };
    let source = if spec.source == "ours" { String::new() } else { format!(" ({})", spec.source) };
    format!("| `{}` | {usual} | {} | {}{source} |\n", spec.name, spec.expected(), spec.help)
}

fn table(title: &str, set: &impl ParamSet) -> String {
    let rows: String = set.specs().iter().map(|spec| row(set, spec)).collect();
    format!("\n## {title}\n\n| name | default | expected | meaning |\n|---|---|---|---|\n{rows}")
}

fn main() {
    print!(
        "# Settings of the RTP endpoint\n\nThe settings that [senders, receivers and streams](embed.md) take by name, in Rust \
         (`MediaSender::configured`), in C\n(`paceline_sender_create`) and in Python (`paceline.MediaSender`). This page is printed \
         by the example\n`endpoint-settings` of `paceline-endpoint`.\n{}{}{}{}",
        table("Sender, beside the parameters of its controller and flow", &SenderSettings::default()),
        table("Stream of a sender", &StreamSettings::default()),
        table("Receiver", &ReceiverSettings::default()),
        table("Stream that a receiver expects", &IncomingSettings::default()),
    );
}
