//! The network world: the endpoints and links of the simulator on real UDP sockets and the monotonic clock.
//!
//! Three drivers, one loop each: a [`Sender`] runs a transport's sending end, a [`Receiver`] its receiving end, and a
//! [`Relay`] stands between them and applies a scenario's links to every datagram. Sender and receiver are generic over a
//! codec, which each transport brings: packets to bytes and back, whom to admit, how to close. They own no policy: what to
//! send, when to report and what to drop is decided by the same state machines that the simulator runs. This is the only
//! room besides the bindings and benches that reads a clock and opens sockets. Linux only: kernel timestamps, timer slack.
//!
//! On the wire: RTP version 2, payload type 98, 90 kHz clock, marker on a frame's last packet, one SSRC per stream,
//! consecutive; back comes RTCP congestion control feedback (RFC 8888). Dummy media carries in its first 24 bytes when
//! it was captured and sent on the machine's monotonic clock ([`paceline_wire::timing`]): two processes of one machine
//! need nothing else to tell one-way delays.
//!
//! A DCCP flow is a connection of its own in UDP (RFC 6773): the client sends, the server behind a host with Init Cookies
//! receives. Inside are the ports of [`paceline_dccp::FLOW_PORTS`]; a capture shows it as native DCCP.
//!
//! All three run in one process by [`live`], a thread each, over ports of loopback that the system chooses.
//!
//! Flows of several processes of a machine share by an [`ExchangeServer`], a process of its own.
//!
//! Whatever arrives is hostile until proven otherwise: see [`NetCounters`] for what is refused and counted.
//!
//! Which end knows which figure is said in the modules of the drivers: [`sender`], [`receiver`], [`relay`].

mod address;
mod agreed;
mod batch;
pub mod browser;
mod capture;
mod choice;
mod clock;
mod control;
mod error;
pub mod exchange;
mod lateness;
mod live;
mod losses;
mod moving;
mod output;
mod peer;
mod port;
pub mod probe;
mod queue;
pub mod receiver;
mod record;
pub mod relay;
mod remote;
// cargo-fuzz sets cfg(fuzzing): its target `rtp_session` sees what the tests see, and the library has none of it.
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod script;
mod secret;
pub mod sender;
mod session_rate;
mod silence;
mod socket;
mod ssrc;
mod transports;
mod wait;

pub use address::{parse_address, resolve_address};
pub use agreed::{Agreed, Media, Repair};
pub use browser::{BrowserCall, BrowserOutput, IceCredentials, Role};
pub use capture::GrowingFile;
pub use control::{Control, Progress};
pub use error::NetError;
pub use exchange::{
    ExchangeClient, ExchangeCounters, ExchangeLimits, ExchangeOptions, ExchangeServer, GroupBy,
};
pub use live::{LiveOptions, LiveOutput, live};
pub use output::{NetCounters, NetOutput};
pub use probe::{PathProber, Reflector};
pub use receiver::{ReceiveOptions, Receiver, receive};
pub use relay::{OpaqueRelay, Relay, RelayOptions, TunnelOptions, tunnel};
pub use remote::Remote;
pub use sender::{SendOptions, Sender};
