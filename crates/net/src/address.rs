//! Addresses as people write them.

use crate::NetError;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

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

/// Reads `HOST:PORT`, HOST being the name of a host, too, which is looked up: that takes as long as the system's resolver
/// does. Of several addresses it is the first of `beside`'s family, without `beside` the first of IPv4.
///
/// # Errors
/// If it is anything else, or the host is not found.
pub fn resolve_address(text: &str, beside: Option<SocketAddr>) -> Result<SocketAddr, NetError> {
    let wrong = match parse_address(text) {
        Ok(address) => return Ok(address),
        Err(wrong) => wrong,
    };
    let Some((name, port)) = text.trim().rsplit_once(':').filter(|(name, _)| is_host_name(name)) else {
        return Err(wrong);
    };
    let Ok(port) = port.parse::<u16>() else { return Err(wrong) };
    let failed = |source| NetError::Host { name: name.into(), source };
    let found: Vec<_> = (name, port).to_socket_addrs().map_err(failed)?.collect();
    let none = || failed(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
    preferred(&found, beside).ok_or_else(none)
}

fn preferred(found: &[SocketAddr], beside: Option<SocketAddr>) -> Option<SocketAddr> {
    let ipv4 = beside.is_none_or(|beside| beside.is_ipv4());
    found.iter().find(|address| address.is_ipv4() == ipv4).or(found.first()).copied()
}

/// Whether it can be the name of a host (RFC 1123 section 2.1): one whose last label is a number is a damaged address.
fn is_host_name(text: &str) -> bool {
    let labels = || text.strip_suffix('.').unwrap_or(text).split('.');
    let sound = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    labels().all(sound) && !labels().next_back().is_some_and(number)
}

/// An error if `target` is at port 0: a socket has to be somewhere to be sent to.
pub(crate) fn require_port(target: SocketAddr) -> Result<(), NetError> {
    if target.port() == 0 { Err(NetError::NoPort { address: target }) } else { Ok(()) }
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
    fn names_of_hosts_are_looked_up() {
        // Not the word that is 127.0.0.1 without asking anybody.
        let found = resolve_address("LocalHost:5000", None).expect("every machine knows itself");
        assert!(found.ip().is_loopback() && found.port() == 5000, "{found}");
        let literal = resolve_address("[::1]:9", None).expect("an address");
        assert_eq!(literal.to_string(), "[::1]:9");
        let error = resolve_address("nobody.invalid:5000", None).expect_err("RFC 6761: never found");
        assert!(matches!(error, NetError::Host { .. }));
        assert!(error.to_string().starts_with("cannot find the host nobody.invalid: "), "{error}");
        for wrong in
            ["1.2.3:5", "300.1.1.1:5", "a..b:5", ":5", "a b:5", "fe80::1:5", "example.org", "example.org:x"]
        {
            let error = resolve_address(wrong, None).expect_err(wrong);
            assert!(matches!(error, NetError::Address { .. }), "{error}");
        }
    }

    #[test]
    fn the_family_of_the_other_socket_is_preferred() {
        let [six, four, also]: [SocketAddr; 3] =
            ["[2001:db8::1]:7", "192.0.2.1:7", "192.0.2.2:7"].map(|text| text.parse().expect("an address"));
        assert_eq!(preferred(&[six, four, also], None), Some(four));
        assert_eq!(preferred(&[six, four], Some(also)), Some(four));
        assert_eq!(preferred(&[four, six], Some(six)), Some(six));
        assert_eq!((preferred(&[six], Some(four)), preferred(&[], None)), (Some(six), None));
    }

    #[test]
    fn nothing_is_sent_to_port_0() {
        let error = require_port("127.0.0.1:0".parse().expect("an address")).expect_err("no port");
        assert!(error.to_string().contains("found 127.0.0.1:0"), "{error}");
        assert!(require_port("127.0.0.1:1".parse().expect("an address")).is_ok());
    }

    #[test]
    fn a_local_peer_is_met_on_loopback() {
        let local = |text: &str| local_for(text.parse().expect("address")).to_string();
        assert_eq!(local("127.0.0.1:7"), "127.0.0.1:0");
        assert_eq!(local("192.0.2.1:7"), "0.0.0.0:0");
        assert_eq!(local("[2001:db8::1]:7"), "[::]:0");
    }
}
