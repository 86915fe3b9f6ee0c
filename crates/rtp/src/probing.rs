//! Probes: bursts that leave at a rate of their own, whatever allowance and pacing say, media first and padding for the
//! rest ([`paceline_cc::Probe`]). While one lasts nothing else leaves.

use super::scheduler::Scheduler;
use super::stream::Stream;
use super::streams::Streams;
use paceline_cc::{Pacing, Probe};
use paceline_ends::Pacer;
use paceline_media::QueuedPacket;
use paceline_units::{Bitrate, Bytes, Time, TimeDelta};
use std::collections::VecDeque;

/// The most padding of a packet: one byte counts it (RFC 3550 section 5.1).
const MOST_PADDING: u64 = 255;

/// The probes that the controller asked for and that are not sent whole.
#[derive(Clone, Debug)]
pub(super) struct Probing {
    /// The first is being sent: its `bytes` are what is left of it.
    probes: VecDeque<Probe>,
    pacer: Pacer,
    stopped: bool,
}

impl Probing {
    /// No probe. A driver that wakes late by up to `forgiven` makes up for it.
    pub(super) fn new(forgiven: TimeDelta) -> Probing {
        Probing { probes: VecDeque::new(), pacer: Pacer::new(forgiven), stopped: false }
    }

    /// Whether a probe is being sent.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        !self.probes.is_empty()
    }

    /// When the next packet of the probe leaves.
    pub(super) fn next(&self) -> Time {
        self.pacer.next()
    }

    /// The controller asks for a probe: it begins when those before it are sent.
    #[cold]
    pub(super) fn ask(&mut self, now: Time, probe: Probe) {
        if self.stopped || probe.bytes == Bytes::ZERO || probe.rate == Bitrate::ZERO {
            return;
        }
        self.probes.push_back(probe);
        if self.probes.len() == 1 {
            self.pacer.set(Pacing::Rate(probe.rate));
            // Nothing left yet: the first packet is due at once.
            self.pacer.on_sent(now, Bytes::ZERO);
        }
    }

    fn on_sent(&mut self, now: Time, size: Bytes) {
        self.pacer.on_sent(now, size);
        let Some(probe) = self.probes.front_mut() else { return };
        probe.bytes -= size;
        if probe.bytes > Bytes::ZERO {
            return;
        }
        self.probes.pop_front();
        if let Some(next) = self.probes.front() {
            self.pacer.set(Pacing::Rate(next.rate));
        }
    }

    /// The next packet of the probe, if it leaves at `now`: its stream, its padding, which is 0 if it carries media, and the
    /// probe's number. Padding goes behind a header of this size.
    #[cold]
    pub(super) fn next_packet(
        &mut self,
        now: Time,
        header: Bytes,
        (streams, scheduler): (&Streams, &Scheduler),
    ) -> Option<(usize, u8, Option<u64>)> {
        let Probe { id, bytes, .. } = *self.probes.front()?;
        if now < self.next() {
            return None;
        }
        let media = scheduler.next(now, streams).and_then(|id| Some((id, streams[id].queue().next_size()?)));
        let (stream, padding, size) = match media {
            Some((stream, size)) => (stream, 0, size),
            None => {
                let padding = (bytes - header).as_u64().clamp(1, MOST_PADDING);
                let Some(stream) = streams.iter().position(Stream::is_present) else {
                    self.probes.clear();
                    return None;
                };
                (stream, padding as u8, header + Bytes::new(padding))
            }
        };
        self.on_sent(now, size);
        Some((stream, padding, Some(id)))
    }

    /// Nothing of any probe is sent from now on.
    pub(super) fn stop(&mut self) {
        self.probes.clear();
        self.stopped = true;
    }
}

/// The content of a packet of padding: no media.
#[inline]
pub(super) fn no_media(now: Time) -> QueuedPacket {
    let (captured, payload) = (now, Bytes::ZERO);
    QueuedPacket { frame: 0, captured, queued: now, payload, first: false, marker: false, key: false }
}
