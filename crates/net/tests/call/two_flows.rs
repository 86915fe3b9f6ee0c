//! Two flows of one coupling, whose ends have two ports in a row.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "ports that are free are looked for")]

use super::{anywhere, loaded};
use paceline_scenario::Loaded;
use std::net::{SocketAddr, UdpSocket};

/// A camera that weighs twice as much as slides, over 6 Mbit/s. `more` stands in their coupling.
pub fn camera_and_slides(seconds: u32, more: &str) -> Loaded {
    let flow = |name: &str, more: &str| {
        format!(
            "[flows.{name}]\ncontroller = {{ kind = \"scream\", profile = \"reference-2022\", target_bitrate_start = \"2Mbps\", \
             target_bitrate_max = \"20Mbps\" }}\nsource = {{ kind = \"trace-encoder\", generator = \"frames\", fps = 50 }}\n\
             path = [\"bottleneck\"]\n{more}\n"
        )
    };
    let link = "[links.bottleneck]\nrate = \"6Mbps\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = \"200ms\" }\n";
    let coupling = format!("[coupling.call]\nkind = \"active\"\nflows = [\"slides\", \"camera\"]\n{more}\n");
    let (camera, slides) = (flow("camera", "priority = 2"), flow("slides", ""));
    loaded(&format!("duration = \"{seconds}s\"\nwarmup = \"2s\"\n{link}{camera}{slides}{coupling}"))
}

/// Where the second of two flows goes if the first goes to `first`.
pub fn after(first: SocketAddr) -> SocketAddr {
    SocketAddr::new(first.ip(), first.port() + 1)
}

/// An end that binds to an address and, of several flows, to the port after it, too.
pub fn on_two_ports<T, E>(bind: impl Fn(SocketAddr) -> Result<T, E>) -> T {
    let port = || UdpSocket::bind(anywhere()).expect("a socket").local_addr().expect("an address");
    let bound = std::iter::repeat_with(port).take(50).find_map(|address| bind(address).ok());
    bound.expect("two free ports in a row")
}
