//! One of the controllers as a program: its name is the only argument.

use paceline_guest::program::serve;
use std::io::Error;

fn main() -> std::io::Result<()> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let peers = peer_quic::peers();
    let Some((description, maker)) = peers.iter().find(|(one, _)| one.kind == wanted) else {
        let names = peers.map(|(one, _)| one.kind).join(", ");
        return Err(Error::other(format!("found {wanted:?}, expected one of {names}")));
    };
    serve(description, maker)
}
