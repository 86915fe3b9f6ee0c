//! A link as a component: takes what its feeders offer, and says where what departs goes.

use crate::edge::{Edge, Edges};
use crate::packet::{Packet, PacketRun, QueuedPackets, Token};
use paceline_link::{Arrival, Departure, Link, Offered, Plan, Planned, Transit};
use paceline_metrics::{LinkRecorder, Tick, Ticker};
use paceline_units::{Time, TimeDelta};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, binary_heap::PeekMut};

/// A packet that a link did not carry.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it would have been at the link's other end, at the earliest.
    pub missed: Time,
    /// The packet that was dropped or lost.
    pub packet: Packet,
}

/// A packet that left a link.
#[derive(Clone, Copy, Debug)]
pub struct Forwarded {
    /// The edge that it leaves on.
    pub edge: usize,
    /// Time of arrival at the end of that edge.
    pub at: Time,
    /// The packet, with the waits and marks of that link.
    pub packet: Packet,
    /// How it reaches the end of the edge.
    pub arrival: Arrival,
}

/// When the next packet of an input arrives, its flow and the input, in this order of significance: one number, which is
/// compared and moved as such.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Head(u128);

impl Head {
    #[inline]
    fn of(input: usize, edge: &Edge) -> Head {
        let behind = u64::from(edge.next_flow()) << 32 | input as u64;
        Head(u128::from(edge.next().as_nanos()) << 64 | u128::from(behind))
    }

    #[inline]
    fn at(self) -> Time {
        Time::from_nanos((self.0 >> 64) as u64)
    }

    #[inline]
    fn input(self) -> usize {
        self.0 as u32 as usize
    }
}

/// A link, its feeders and its recorder.
pub struct Hop {
    link: Link<Token>,
    queued: QueuedPackets,
    /// Packets with congestion headers that departed in the present call: the place of each among those forwarded, and its key.
    headed: Vec<(usize, u32)>,
    /// Edges that packets arrive on.
    pub inputs: Vec<usize>,
    /// Edges that packets leave on.
    pub outputs: Vec<usize>,
    /// The edge that packets of each flow leave on: forward at twice its number, back at the place after it.
    pub next: Vec<u32>,
    recorder: LinkRecorder,
    ticker: Ticker,
    /// Of each input that has packets when its next one arrives, its flow and the input; for links with several. A packet that came before
    /// others on its input leaves an entry that is of no packet.
    heads: BinaryHeap<Reverse<Head>>,
    /// Number of this component.
    pub number: u32,
    /// Whether the engine is told already that the next event may have moved.
    pub woken: bool,
    /// When the ticker's next tick is due.
    next_look: Time,
}

impl Hop {
    /// A link before anything happened.
    pub fn new(link: Link<Token>, recorder: LinkRecorder, ticker: Ticker) -> Hop {
        let (inputs, outputs, next, heads) = (Vec::new(), Vec::new(), Vec::new(), BinaryHeap::new());
        let next_look = ticker.pending().map_or(Time::MAX, Tick::covers);
        Hop {
            link,
            queued: QueuedPackets::default(),
            headed: Vec::new(),
            inputs,
            outputs,
            next,
            recorder,
            ticker,
            heads,
            number: 0,
            woken: false,
            next_look,
        }
    }

    /// When something happens next at this link.
    pub fn next(&self, edges: &Edges) -> Time {
        let own = self.link.next_event().unwrap_or(Time::MAX);
        let arrival = match self.inputs[..] {
            [input] => edges[input].next(),
            _ => self.heads.peek().map_or(Time::MAX, |Reverse(head)| head.at()),
        };
        own.min(arrival)
    }

    /// A packet has become the next on one of several inputs.
    pub fn note_head(&mut self, input: usize, edge: &Edge) {
        self.heads.push(Reverse(Head::of(input, edge)));
    }

    /// The next packet that arrives on one of several inputs before `until`.
    pub fn take_head(&mut self, until: Time, edges: &mut Edges) -> Option<(Time, Packet)> {
        while let Some(mut first) = self.heads.peek_mut() {
            let Reverse(head) = *first;
            let input = head.input();
            let edge = &mut edges[input];
            let is_next = Head::of(input, edge) == head;
            if is_next && head.at() >= until {
                return None;
            }
            let taken = if is_next { edge.pop() } else { None };
            if is_next && !edge.is_empty() {
                *first = Reverse(Head::of(input, edge));
                drop(first);
            } else {
                PeekMut::pop(first);
            }
            if taken.is_some() {
                return taken;
            }
        }
        None
    }

    /// The link's next event may be sooner than it was, if there is one.
    #[inline(never)]
    pub fn note_next(&mut self, woken: &mut Vec<u32>) {
        if self.link.next_event().is_some() && !std::mem::replace(&mut self.woken, true) {
            woken.push(self.number);
        }
    }

    /// The same after a packet that found the server idle, so that nothing waits.
    #[inline(always)]
    pub fn note_timer(&mut self, woken: &mut Vec<u32>) {
        if self.link.has_timer() {
            self.note_next(woken);
        }
    }

    /// How long a packet is under way at least once it left.
    pub fn delay(&self) -> TimeDelta {
        self.link.delay()
    }

    /// By how much a copy arrives behind its packet.
    pub fn copy_delay(&self) -> TimeDelta {
        self.link.copy_delay()
    }

    /// When the next look is due: at what happens from then on it comes too late.
    #[inline]
    pub fn next_look(&self) -> Time {
        self.next_look
    }

    /// Takes the samples that do not cover what happens at `at`. Answers when the next look is due.
    #[inline]
    pub fn look_before(&mut self, at: Time) -> Time {
        while self.next_look <= at {
            self.look_once();
        }
        self.next_look
    }

    #[cold]
    fn look_once(&mut self) {
        if let Some(tick) = self.ticker.pending() {
            self.link.settle(tick.covers() - TimeDelta::from_nanos(1));
            self.recorder.tick(tick, &mut self.link);
            self.ticker.pass(tick);
        }
        self.next_look = self.ticker.pending().map_or(Time::MAX, Tick::covers);
    }

    /// Number of packets that were offered.
    pub fn events(&self) -> u64 {
        self.link.offered()
    }

    /// Whether packets arrive in the order in which they came.
    pub fn keeps_order(&self) -> bool {
        self.link.keeps_order()
    }

    /// Whether the link is plain, so that `plan` knows what becomes of any packet.
    pub fn is_plain(&self) -> bool {
        self.link.is_plain()
    }

    /// A packet comes at `at`: what becomes of it, if that is known at once. With `PLAIN` only a plain link knows
    /// ([`Link::plan_plain`]), of any packet.
    #[inline(always)]
    pub fn plan<const PLAIN: bool>(&mut self, at: Time, packet: &mut Packet) -> Planned {
        if PLAIN { self.link.plan_plain(at, packet) } else { self.link.plan(at, packet) }
    }

    /// Packets come one after the other before the next look: they pass at once where all find a plain link idle. The edge that
    /// they leave on; absent where that is not so, and then nothing has happened to them.
    #[inline]
    pub fn pass_run(&mut self, run: &mut PacketRun) -> Option<usize> {
        let plan = self.link.plan_run(run.at, run.gap, run.count, &run.packet)?;
        let mut departed = plan.departed;
        for _ in 0..run.count {
            self.recorder.departed(departed, plan.wait);
            departed += run.gap;
        }
        run.at = plan.arrives;
        Some(self.next[run.packet.way()] as usize)
    }

    /// A packet departs as planned. The edge that it leaves on.
    #[inline(always)]
    pub fn depart(&mut self, plan: &Plan, packet: &mut Packet) -> usize {
        self.recorder.departed(plan.departed, plan.wait);
        packet.cross(plan.wait, plan.noise);
        self.next[packet.way()] as usize
    }

    /// A packet that is dropped or lost at `at`.
    pub fn lose(&self, at: Time, packet: &Packet) -> Lost {
        Lost { missed: at + self.link.delay(), packet: *packet }
    }

    /// A packet comes at `at` that the link is to hold. Departures go to `forwarded`. False if the packet is dropped or
    /// lost.
    #[inline(never)]
    pub fn offer(&mut self, at: Time, packet: &Packet, forwarded: &mut Vec<Forwarded>) -> bool {
        let Hop { link, queued, headed, recorder, next, .. } = self;
        let token = queued.put(packet);
        if token.headed {
            lend(link, &token, *packet);
        }
        let mut sink = |departure| forward(departure, queued, headed, recorder, next, forwarded);
        let is_accepted = link.offer(at, token, &mut sink) == Offered::Accepted;
        if !is_accepted {
            self.queued.take(&token);
        }
        if !self.headed.is_empty() {
            self.give_headers_back(forwarded);
        }
        is_accepted
    }

    /// Writes the headers that the link was lent into the packets that departed in this call.
    #[cold]
    fn give_headers_back(&mut self, forwarded: &mut [Forwarded]) {
        for (place, key) in self.headed.drain(..) {
            if let (Some(header), Some(to)) = (self.link.lent(key), forwarded[place].packet.congestion()) {
                *to = header;
            }
        }
    }

    /// The link's own events before `until`.
    pub fn advance_link(&mut self, until: Time, forwarded: &mut Vec<Forwarded>, lost: &mut Vec<Lost>) {
        let Hop { link, queued, headed, recorder, next, .. } = self;
        link.advance(until, &mut |departure| forward(departure, queued, headed, recorder, next, forwarded));
        if !self.headed.is_empty() {
            self.give_headers_back(forwarded);
        }
        while let Some((at, token)) = self.link.take_dropped() {
            let packet = self.queued.take(&token);
            lost.push(Lost { missed: at + self.link.delay(), packet });
        }
    }

    /// The link's recorder with its figures so far.
    pub fn recorder(&self) -> &LinkRecorder {
        &self.recorder
    }

    /// The link's recorder with its figures.
    pub fn into_recorder(self) -> LinkRecorder {
        self.recorder
    }
}

/// Lends the link the congestion header of a packet that it is to hold.
#[cold]
fn lend(link: &mut Link<Token>, token: &Token, mut packet: Packet) {
    if let (Some(key), Some(header)) = (token.lent_key(), packet.congestion()) {
        link.lend(key, *header);
    }
}

#[inline]
fn forward(
    departure: Departure<Token>,
    queued: &mut QueuedPackets,
    headed: &mut Vec<(usize, u32)>,
    recorder: &mut LinkRecorder,
    next: &[u32],
    forwarded: &mut Vec<Forwarded>,
) {
    recorder.departed(departure.departed, departure.wait);
    let mut packet = queued.take(&departure.packet);
    packet.cross(departure.wait, departure.noise);
    if let Some(key) = departure.packet.lent_key() {
        headed.push((forwarded.len(), key));
    }
    let Departure { arrives: at, arrival, .. } = departure;
    forwarded.push(Forwarded { edge: next[packet.way()] as usize, at, packet, arrival });
}
