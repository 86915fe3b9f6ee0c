//! Which stream's packet leaves next: retransmissions, then the controller's choice, then by start-time fair queueing.

use super::stream::Stream;
use super::streams::Streams;
use paceline_cc::StreamId;
use paceline_units::Bytes;

/// The order of the streams of one flow.
#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    /// The controller's choice.
    chosen: Option<StreamId>,
    /// The service by weight of the stream that was served last.
    served: f64,
}

impl Scheduler {
    pub(super) fn new() -> Scheduler {
        Scheduler { chosen: None, served: 0.0 }
    }

    /// The controller has this stream's packets leave first.
    #[inline]
    pub(super) fn choose(&mut self, stream: StreamId) {
        self.chosen = Some(stream);
    }

    /// Retransmissions, then the controller's choice if it has something to send, else of the streams that have the one that was
    /// served least by its priority.
    pub(super) fn next(&self, streams: &Streams) -> Option<usize> {
        let waits = |id: &usize| streams.get(*id).is_some_and(Stream::waits);
        if let Some(id) = streams.next_repair() {
            return Some(id);
        }
        let chosen = self.chosen.map(|stream| usize::from(stream.0)).filter(waits);
        chosen.or_else(|| {
            (0..streams.len()).filter(waits).reduce(|best, id| {
                let [one, other] = [best, id].map(|id| streams[id].service());
                if other.0 < one.0 || other.0 == one.0 && other.1 > one.1 { id } else { best }
            })
        })
    }

    /// A packet of one of several streams leaves.
    #[inline]
    pub(super) fn on_sent(&mut self, stream: &mut Stream, size: Bytes) {
        self.served = stream.serve(size);
    }

    /// A stream of which nothing waited has packets again: nobody is served later for what he did not want before.
    #[inline]
    pub(super) fn on_waiting(&self, stream: &mut Stream) {
        stream.catch_up(self.served);
    }
}
