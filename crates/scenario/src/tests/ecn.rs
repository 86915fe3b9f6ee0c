//! A controller that ignores marks does not say that its packets can be marked.

use crate::{Loader, Origin, load};
use paceline_cc::{ControllerParams, Steers};

/// The message about a flow of the controller `kind` with packets of `ecn`, where it is refused.
fn refusal(params: &ControllerParams, ecn: &str) -> Option<String> {
    let (kind, transport) = (params.kind(), if params.steers() == Steers::Unreported { "udp" } else { "" });
    let transport = if transport.is_empty() { String::new() } else { format!("transport = \"{transport}\"") };
    let text = format!(
        r#"
        duration = "1s"
        [links.bottleneck]
        rate = "1Mbps"
        delay = "1ms"
        queue = {{ kind = "codel" }}
        [flows.video]
        {transport}
        controller = "{kind}"
        ecn = "{ecn}"
        source = {{ kind = "cbr", rate = "1Mbps" }}
        path = ["bottleneck"]
        "#
    );
    let loaded = load(&Origin { text: &text, file: "ecn.toml", sets: &[] }, &Loader::default());
    loaded.err().map(|error| error.to_string())
}

#[test]
fn marks_are_for_those_who_answer_them() {
    for (params, _) in ControllerParams::all() {
        for ecn in ["off", "classic", "l4s"] {
            let refused = refusal(&params, ecn);
            let ignores = ["rap", "bbr", "um", "gcc"].contains(&params.kind());
            assert_eq!(refused.is_some(), ignores && ecn != "off", "{} {ecn}: {refused:?}", params.kind());
            if let Some(message) = refused {
                let pair =
                    [format!("found {ecn}"), format!("the controller {} ignores marks", params.kind())];
                assert!(message.contains("flows.video.ecn"), "{message}");
                assert!(pair.iter().all(|part| message.contains(part)), "{message}");
                assert!(message.contains("ecn.toml:10"), "{message}");
            }
        }
    }
}
