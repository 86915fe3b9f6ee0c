//! Addresses as people write them. No name is looked up: a measurement names the machine it means.

use crate::NetError;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Reads `HOST:PORT`. HOST is an IP address (IPv6 in brackets) or `localhost`, which is 127.0.0.1.
///
/// # Errors
/// If it is anything else.
pub fn parse_address(text: &str) -> Result<SocketAddr, NetError> {
    let text = text.trim();
    let wrong = || NetError::Address { found: text.into() };
    if let Some(port) = text.strip_prefix("localhost:") {
        let port = port.parse().map_err(|_| wrong())?;
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse().map_err(|_| wrong())
}

/// Where a socket binds that talks to `peer`: loopback stays loopback; otherwise any of the machine's addresses, port
/// of the system's choice.
pub(crate) fn local_for(peer: SocketAddr) -> SocketAddr {
    let ip = match (peer.ip().is_loopback(), peer) {
        (true, _) => peer.ip(),
        (false, SocketAddr::V4(_)) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        (false, SocketAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_literals_or_localhost() {
        let read = |text| parse_address(text).map(|address| address.to_string()).ok();
        assert_eq!(read("localhost:5000").as_deref(), Some("127.0.0.1:5000"));
        assert_eq!(read("192.0.2.1:1").as_deref(), Some("192.0.2.1:1"));
        assert_eq!(read("[::1]:9").as_deref(), Some("[::1]:9"));
        for wrong in ["", "5000", "localhost", "localhost:70000", "example.org:5000", "1.2.3.4", "::1:9x"] {
            let error = parse_address(wrong).expect_err(wrong).to_string();
            assert!(error.contains(&format!("\"{wrong}\"")) && error.contains("HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn a_local_peer_is_met_on_loopback() {
        let local = |text: &str| local_for(text.parse().expect("address")).to_string();
        assert_eq!(local("127.0.0.1:7"), "127.0.0.1:0");
        assert_eq!(local("192.0.2.1:7"), "0.0.0.0:0");
        assert_eq!(local("[2001:db8::1]:7"), "[::]:0");
    }
}
