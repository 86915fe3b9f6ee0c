//! Which stream's packet leaves next: retransmissions, then the controller's choice, then by start-time fair queueing.

use super::stream::Stream;
use super::streams::Streams;
use paceline_cc::StreamId;
use paceline_units::{Bytes, Time};

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

    /// The stream whose packet leaves next, at `from` at the earliest: retransmissions, then the controller's choice if it has something to
    /// send, else of the streams that have the one that was served least by its priority. Of streams that are held to their shares, one
    /// that is free first.
    pub(super) fn next(&self, from: Time, streams: &Streams) -> Option<usize> {
        if let Some(id) = streams.next_repair() {
            return Some(id);
        }
        let at = streams.iter().filter_map(Stream::free_from).min()?.max(from);
        let is_free = |id: &usize| streams.get(*id).is_some_and(|stream| stream.is_free(at));
        let chosen = self.chosen.map(|stream| usize::from(stream.0)).filter(is_free);
        chosen.or_else(|| {
            (0..streams.len()).filter(is_free).reduce(|best, id| {
                let [one, other] = [best, id].map(|id| streams[id].service());
                if other.0 < one.0 || other.0 == one.0 && other.1 > one.1 { id } else { best }
            })
        })
    }

    /// A packet of one of several streams leaves, of this payload and size.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, stream: &mut Stream, (payload, size): (Bytes, Bytes)) {
        self.served = stream.serve(now, payload, size);
    }

    /// A stream of which nothing waited has packets again: nobody is served later for what he did not want before.
    #[inline]
    pub(super) fn on_waiting(&self, stream: &mut Stream) {
        stream.catch_up(self.served);
    }
}
