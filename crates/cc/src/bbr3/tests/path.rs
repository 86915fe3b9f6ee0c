//! A flow over a bottleneck, in steps of time.

use super::*;
use crate::window::Law;
use crate::window::drive::lost;
use crate::{Controller, Recovery, SentPacket, StreamId};
use alloc::collections::VecDeque;
use paceline_units::Ecn;

const STEP: TimeDelta = TimeDelta::from_nanos(250_000);

/// A paced flow over a bottleneck and 100 ms. Time goes by in quarters of a millisecond.
pub struct Path {
    pub flow: Flow<Bbr3Law>,
    /// Packets of 1000 B in a second.
    pub rate: f64,
    /// Packets that the bottleneck has begun, and its fraction of the next.
    pub served: f64,
    pub waiting: VecDeque<u64>,
    pub queue: usize,
    /// When acknowledgements arrive.
    pub back: VecDeque<(Time, u64)>,
    /// Packets that were dropped and not declared lost.
    pub dropped: VecDeque<u64>,
    pub recovery_end: Option<u64>,
    pub next_send: Time,
    /// Packets in a second that a policer with a bucket of 50 lets by, if there is one, and its tokens.
    pub police: Option<f64>,
    pub tokens: f64,
    /// Packets that were dropped so far.
    pub all_dropped: u64,
    /// The application has data.
    pub greedy: bool,
    /// One packet in so many is dropped on the way.
    pub lose_every: u64,
    /// Acknowledgements leave the receiver in such intervals, if they are gathered.
    pub gather: TimeDelta,
}

impl Path {
    pub fn new(rate: f64, queue: usize) -> Path {
        Path {
            flow: make(),
            rate,
            served: 0.0,
            waiting: VecDeque::new(),
            queue,
            back: VecDeque::new(),
            dropped: VecDeque::new(),
            recovery_end: None,
            next_send: Time::ZERO,
            police: None,
            tokens: 50.0,
            all_dropped: 0,
            greedy: true,
            lose_every: u64::MAX,
            gather: TimeDelta::ZERO,
        }
    }

    pub fn law(&mut self) -> &mut Bbr3Law {
        self.flow.sender.parts().0
    }

    pub fn phase(&mut self) -> Phase {
        self.law().phase
    }

    pub fn pipe(&mut self) -> f64 {
        self.flow.sender.parts().1.pipe as f64
    }

    /// A packet leaves, the last of what there is if `last`.
    pub fn send(&mut self, last: bool) {
        let sequence = self.flow.next;
        let size = Bytes::new(SIZE);
        let packet = SentPacket { stream: StreamId(0), sequence, size, probe: None, app_limited: last };
        let _ = self.flow.sender.on_sent(self.flow.now, &packet);
        self.flow.next += 1;
        let policed = self.police.is_some() && self.tokens < 1.0;
        self.tokens -= if policed { 0.0 } else { 1.0 };
        if policed || self.waiting.len() >= self.queue || (sequence + 1).is_multiple_of(self.lose_every) {
            self.all_dropped += 1;
            self.dropped.push_back(sequence);
        } else {
            self.waiting.push_back(sequence);
        }
    }

    pub fn fill(&mut self) {
        let now = self.flow.now;
        loop {
            let (law, window) = self.flow.sender.parts();
            if !self.greedy || window.bytes() < window.pipe + SIZE || self.next_send > now {
                return;
            }
            let pace = law.pacing_rate(window).unwrap();
            self.next_send = self.next_send.max(now - STEP) + pace.time_for(Bytes::new(SIZE));
            self.send(false);
        }
    }

    pub fn step(&mut self) {
        self.flow.now += STEP;
        let now = self.flow.now;
        self.tokens = (self.tokens + self.police.unwrap_or(0.0) * STEP.as_secs_f64()).min(50.0);
        self.served =
            if self.waiting.is_empty() { 0.0 } else { self.served + self.rate * STEP.as_secs_f64() };
        while self.served >= 1.0
            && let Some(sequence) = self.waiting.pop_front()
        {
            self.served -= 1.0;
            let mut arrives = now + TimeDelta::from_millis(100);
            if self.gather > TimeDelta::ZERO {
                let slot = self.gather.as_nanos() as u64;
                arrives = Time::from_nanos(arrives.as_nanos().div_ceil(slot) * slot);
            }
            self.back.push_back((arrives, sequence));
        }
        while let Some((_, sequence)) = self.back.pop_front_if(|(arrives, _)| *arrives <= now) {
            self.acknowledge(sequence);
        }
        self.fill();
    }

    pub fn acknowledge(&mut self, sequence: u64) {
        self.flow.ack(sequence..sequence + 1, Ecn::NotEct);
        let mut declared = 0;
        while self.dropped.pop_front_if(|dropped| *dropped + 3 <= sequence).is_some() {
            declared += 1;
        }
        if self.recovery_end.is_some_and(|end| sequence >= end) {
            self.recovery_end = None;
            self.flow.tell(Recovery::Left);
        }
        if declared > 0 {
            let lost = lost(declared);
            match self.recovery_end {
                Some(_) => self.flow.tell(Recovery::Lost { lost }),
                None => {
                    self.recovery_end = Some(self.flow.next);
                    self.flow.tell(Recovery::Entered { lost });
                }
            }
        }
    }

    pub fn run(&mut self, seconds: f64) {
        self.until(seconds, |_| false);
    }

    /// Until the condition holds; fails if it does not within so many seconds.
    #[track_caller]
    pub fn wait(&mut self, seconds: f64, condition: impl FnMut(&mut Path) -> bool) {
        assert!(self.until(seconds, condition), "it did not come within {seconds} s");
    }

    pub fn until(&mut self, seconds: f64, mut condition: impl FnMut(&mut Path) -> bool) -> bool {
        let end = self.flow.now + TimeDelta::from_secs_f64(seconds);
        while self.flow.now < end {
            self.step();
            if condition(self) {
                return true;
            }
        }
        false
    }

    /// The same without ProbeRTT, where that would come between.
    #[track_caller]
    pub fn undisturbed(rate: f64, queue: usize, phase: Phase) -> Path {
        let long = TimeDelta::from_secs(100);
        let params = Params { probe_rtt_interval: long, min_rtt_filter_len: long, ..Params::default() };
        let mut path = Path { flow: with(params), ..Path::new(rate, queue) };
        path.wait(20.0, |path| path.phase() == phase);
        path
    }

    /// A path whose flow has come into a phase.
    #[track_caller]
    pub fn in_phase(rate: f64, queue: usize, phase: Phase) -> Path {
        let mut path = Path::new(rate, queue);
        path.wait(20.0, |path| path.phase() == phase);
        path
    }
}
