//! Events that wait for the application.

use super::Event;
use std::collections::VecDeque;

/// Events that wait at most, datagrams and the end apart.
const MOST_NOTICES: usize = 64;

/// Events of one connection, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    events: VecDeque<Event>,
    /// Datagrams among the events.
    datagrams: usize,
}

impl Events {
    /// Datagrams that the application has not taken.
    #[inline]
    pub(super) fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// Tells the application.
    pub(super) fn push(&mut self, event: Event) {
        self.datagrams += usize::from(matches!(event, Event::Received { .. }));
        self.events.push_back(event);
    }

    /// Tells the application; of events that may come again and again only so many wait.
    pub(super) fn notice(&mut self, event: Event) {
        if self.events.len() - self.datagrams < MOST_NOTICES {
            self.push(event);
        }
    }

    /// The next event.
    pub(super) fn pop(&mut self) -> Option<Event> {
        let event = self.events.pop_front();
        self.datagrams -= usize::from(matches!(event, Some(Event::Received { .. })));
        event
    }
}
