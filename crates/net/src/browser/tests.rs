//! Flows of which a browser cannot have an end.

use super::*;
use paceline_scenario::{Loader, Origin, load};

fn loaded(flow: &str) -> Loaded {
    let text = format!(
        r#"
        duration = "2s"
        [links.there]
        rate = "5Mbps"
        delay = "20ms"
        queue = {{ packets = 100 }}
        [flows.video]
        {flow}
        path = ["there"]
        return_delay = "15ms"
        "#
    );
    load(&Origin { text: &text, file: "test.toml", sets: &[] }, &Loader::default()).expect("a sound scenario")
}

#[test]
fn what_no_browser_can_have_an_end_of_is_refused() {
    let said = |flow: &str| match BrowserCall::bind(&loaded(flow), None, Role::Send) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("bound"),
    };
    let half = said(
        "controller = \"tfrc\"\nsource = { kind = \"trace-encoder\", generator = \"frames\", fps = 50 }",
    );
    assert!(half.contains("controller tfrc, expected one that needs no more"), "{half}");
    let bulk = said("transport = \"dccp\"\ncontroller = \"ccid2\"\nsource = { kind = \"bulk\" }");
    assert!(bulk.contains("transport dccp, expected rtp"), "{bulk}");
}
