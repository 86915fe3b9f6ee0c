//! One end's socket: datagrams in and out, the times that ours carry, and the capture file where one is asked for.

use crate::NetError;
use crate::batch::Batch;
use crate::capture::{Capture, Spell};
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
    /// The datagram that [`Port::send`] sends or [`Port::push`] lets wait.
    pub bytes: Vec<u8>,
    capture: Option<Capture>,
    /// Datagrams that leave together, and the dummy media in each.
    batch: Batch,
    media: Vec<Option<Media>>,
}

/// Counts a datagram that went a `way` and, if the system took it, captures it.
fn note(
    counters: &mut NetCounters,
    capture: &mut Option<Capture>,
    left: Moment,
    way: (SocketAddr, Ecn),
    (bytes, taken): (&[u8], bool),
) {
    if !taken {
        counters.unsendable += 1;
        return;
    }
    counters.sent += 1;
    if let Some(capture) = capture {
        capture.sent(left, way.0, way.1, bytes);
    }
}

impl Port {
    /// Speaks over `socket` and, if asked, writes everything into the file `capture`, shown as what it is.
    pub fn new(socket: UdpPort, capture: Option<(&Path, Spell)>) -> Result<Port, NetError> {
        let local = socket.address()?;
        let capture = capture.map(|(path, shown)| Capture::create(path, local, shown)).transpose()?;
        let (batch, media) = (Batch::new(), Vec::new());
        Ok(Port { socket, bytes: Vec::with_capacity(2048), capture, batch, media })
    }

    /// Reads what has arrived into `inbox`; true if there may be more.
    pub fn read(&mut self, inbox: &mut Inbox, counters: &mut NetCounters) -> Result<bool, NetError> {
        let more = self.socket.read(inbox)?;
        counters.received += inbox.len() as u64;
        Ok(more)
    }

    /// The capture says that the clock of this end shows zero at `zero`.
    pub fn begin(&mut self, zero: Moment) {
        if let Some(capture) = &mut self.capture {
            capture.begin(zero);
        }
    }

    /// A datagram of the peer, or of whoever may be it, is written into the capture.
    pub fn capture(&mut self, datagram: &Datagram<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.received(datagram.arrived, datagram.from, datagram.ecn, datagram.bytes);
        }
    }

    /// Sends the datagram in `bytes` alone. A datagram that the system does not take is lost like any other.
    pub fn send(&mut self, to: SocketAddr, ecn: Ecn, counters: &mut NetCounters) {
        let left = Moment::now();
        let sent = self.socket.send(&self.bytes, to, ecn);
        note(counters, &mut self.capture, left, (to, ecn), (&self.bytes, sent.is_ok()));
    }

    /// Whether the datagram in `bytes` can leave with those that wait; if not, they are to [leave](Port::flush) first.
    pub fn takes(&self, to: SocketAddr, ecn: Ecn) -> bool {
        self.batch.takes(self.bytes.len(), to, ecn, &self.socket)
    }

    /// Lets the datagram in `bytes` wait for the next [`Port::flush`].
    pub fn push(&mut self, to: SocketAddr, ecn: Ecn, media: Option<Media>) {
        self.batch.push(&self.bytes, to, ecn);
        self.media.push(media);
    }

    /// Sends the datagrams that wait, and answers when they left; what the system does not take is `refused`, by its place among them.
    /// Dummy media says in its first bytes when it was captured and when it left: moments mean the same to every process of this
    /// machine.
    pub fn flush(
        &mut self,
        counters: &mut NetCounters,
        mut refused: impl FnMut(usize, &io::Error),
    ) -> Moment {
        let Port { socket, capture, batch, media, .. } = self;
        // Before the system call: on one machine the answer may arrive before that returns.
        let left = Moment::now();
        for (place, media) in media.drain(..).enumerate() {
            let Some((begin, captured)) = media else { continue };
            let on_wire = |moment: Moment| Time::from_nanos(moment.as_nanos());
            let times = Timing { captured: on_wire(captured.min(left)), sent: on_wire(left) };
            timing::write(&mut batch.datagram_mut(place)[begin..], times);
        }
        let way = batch.way();
        batch.send(socket, |place, bytes, error| {
            note(counters, capture, left, way, (bytes, error.is_none()));
            if let Some(error) = error {
                refused(place, error);
            }
        });
        left
    }

    /// Ends the capture, if there is one; answers what is to be said of it.
    pub fn finish(self, counters: &mut NetCounters) -> Option<String> {
        let failed = self.capture.and_then(Capture::finish);
        counters.failed_captures = u64::from(failed.is_some());
        failed
    }
}
