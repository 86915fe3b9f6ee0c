//! Streams that join, change and leave while the flow runs.

use super::rate::Rates;
use super::scheduler::StreamCredit;
use super::{MediaRate, Scream, Stream};
use crate::{StreamChange, StreamId, StreamSet, TargetChange, Update};
use paceline_units::{Bitrate, Time};

impl Scream {
    /// A stream that left takes part in no sum of targets and priorities, but what it has in flight counts until it is gone.
    #[cold]
    pub(super) fn change_stream(&mut self, now: Time, stream: StreamId, change: StreamChange) -> Update {
        let id = usize::from(stream.0);
        if id >= usize::from(StreamSet::CAPACITY) {
            return Update::none();
        }
        match change {
            StreamChange::Joined(priority) => self.join(now, id, priority),
            StreamChange::Priority(priority) => self.set_priority(id, priority),
            StreamChange::Left => {
                self.set_priority(id, 0.0);
                let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
                stream.media = MediaRate::new(&self.params, 0.0);
                stream.media.set_limits(Bitrate::ZERO, Bitrate::ZERO);
                let credit = &mut self.credits[id];
                (credit.waiting, credit.credit) = (0, 0.0);
            }
            StreamChange::Gone => {
                let Some(stream) = self.streams.get_mut(id) else { return Update::none() };
                stream.detector.forget();
                self.count_in_flight();
            }
        }
        self.set_pacing();
        Update { target: TargetChange::Streams(StreamSet::default().with(stream)), ..self.answer() }
    }

    fn join(&mut self, now: Time, id: usize, priority: f64) {
        while self.streams.len() <= id {
            self.streams.push(Stream::new(&self.params, now, 0.0));
            self.credits.push(StreamCredit { priority: 0.0, waiting: 0, credit: 0.0 });
        }
        self.streams[id].rates = Rates::new(now);
        self.streams[id].media = MediaRate::new(&self.params, priority);
        self.credits[id] = StreamCredit { priority, waiting: 0, credit: 0.0 };
        self.rates_due = now;
    }

    fn set_priority(&mut self, id: usize, priority: f64) {
        if let (Some(stream), Some(credit)) = (self.streams.get_mut(id), self.credits.get_mut(id)) {
            (stream.media.priority, credit.priority) = (priority, priority);
        }
    }
}
