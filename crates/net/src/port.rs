//! One end's socket: datagrams in and out, the times that ours carry, and the capture file where one is asked for.

use crate::NetError;
use crate::capture::{Capture, Shown};
use crate::clock::Moment;
use crate::output::NetCounters;
use crate::socket::{Datagram, Inbox, UdpPort};
use paceline_units::{Ecn, Time};
use paceline_wire::timing::{self, Timing};
use std::io;
use std::net::SocketAddr;
use std::path::Path;

/// Dummy media in a datagram: where it begins, and when it was captured.
pub(crate) type Media = (usize, Moment);

/// A socket, the datagram that is being written, and the capture of both directions.
pub(crate) struct Port {
    pub socket: UdpPort,
    /// The datagram that [`Port::send`] sends.
    pub bytes: Vec<u8>,
    capture: Option<Capture>,
}

impl Port {
    /// Speaks over `socket` and, if asked, writes everything into the file `capture`, shown as what it is.
    pub fn new(socket: UdpPort, capture: Option<(&Path, Shown)>) -> Result<Port, NetError> {
        let local = socket.address()?;
        let capture = capture.map(|(path, shown)| Capture::create(path, local, shown)).transpose()?;
        Ok(Port { socket, bytes: Vec::with_capacity(2048), capture })
    }

    /// The next datagram that has arrived, in `inbox`.
    pub fn read<'i>(
        &mut self,
        inbox: &'i mut Inbox,
        counters: &mut NetCounters,
    ) -> Result<Option<Datagram<'i>>, NetError> {
        let datagram = self.socket.read(inbox)?;
        counters.received += u64::from(datagram.is_some());
        Ok(datagram)
    }

    /// A datagram of the peer, or of whoever may be it, is written into the capture.
    pub fn capture(&mut self, datagram: &Datagram<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.received(datagram.arrived, datagram.from, datagram.ecn, datagram.bytes);
        }
    }

    /// Sends the datagram in `bytes`, and answers when it left and whether the system took it. Dummy media says in its
    /// first bytes when it was captured and when it left: moments mean the same to every process of this machine.
    pub fn send(
        &mut self,
        to: SocketAddr,
        ecn: Ecn,
        media: Option<Media>,
        counters: &mut NetCounters,
    ) -> (Moment, io::Result<()>) {
        // Before the system call: on one machine the answer may arrive before that returns.
        let left = Moment::now();
        if let Some((begin, captured)) = media {
            let on_wire = |moment: Moment| Time::from_nanos(moment.as_nanos());
            let times = Timing { captured: on_wire(captured.min(left)), sent: on_wire(left) };
            timing::write(&mut self.bytes[begin..], times);
        }
        let sent = self.socket.send(&self.bytes, to, ecn);
        match (&sent, &mut self.capture) {
            (Err(_), _) => counters.unsendable += 1,
            (Ok(()), capture) => {
                counters.sent += 1;
                if let Some(capture) = capture {
                    capture.sent(left, to, ecn, &self.bytes);
                }
            }
        }
        (left, sent)
    }

    /// Ends the capture, if there is one; answers what is to be said of it.
    pub fn finish(self) -> Option<String> {
        self.capture.and_then(Capture::finish)
    }
}
