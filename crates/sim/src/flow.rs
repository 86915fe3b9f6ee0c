//! A flow as two components, its sender and its receiver, whatever its transport.

use crate::edge::Edges;
use crate::net::Net;
use crate::packet::{Packet, PacketPool, PacketRun};
use crate::transports::{Content, Ends, Travels};
use crate::watch::Watch;
use paceline_cc::{Assigned, Controller};
use paceline_ends::{
    Coupled, Follows, Hearing, Next, PathFacts, Plan, Planned, Reason, Received, ReceivingEnd, Run,
    SendingEnd, Transmit,
};
use paceline_metrics::{FlowRecorder, ReceivedPacket, Tick, Ticker};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};

/// How a flow is connected to the network and to its recorder.
pub struct FlowWiring {
    /// Number of the flow, counted from 0.
    pub index: u32,
    /// Bytes added to each packet's size.
    pub overhead: u32,
    /// Edge that data packets leave on, and the delay until they are there.
    pub data_out: (usize, TimeDelta),
    /// Edge that data packets arrive on.
    pub data_in: usize,
    /// Edge that reports or acknowledgements leave on, and the delay until they are there.
    pub reports_out: (usize, TimeDelta),
    /// Edge that reports or acknowledgements arrive on.
    pub reports_in: usize,
    /// Gathers the flow's figures.
    pub recorder: FlowRecorder,
    /// Times at which sender and receiver are sampled.
    pub ticker: Ticker,
    /// Looks at each packet, for flows of which more is asked than figures.
    pub watch: Option<Box<Watch>>,
}

/// An event at a sender, handled but for the packets that it lets leave.
#[derive(Clone, Copy)]
pub struct Handled {
    /// When it happened.
    pub now: Time,
    /// Whether the recorder looks at the controller after it.
    counts: bool,
    /// Whether a packet came back.
    heard: bool,
    /// Whether packets left after it.
    sent: bool,
}

/// The part of a sender's events that is to happen.
#[derive(Clone, Copy)]
enum Part {
    /// Events, and the packets that they let leave.
    All,
    /// One event, packets apart.
    Handling,
    /// The packets of an event that was handled.
    Sending(Handled),
}

/// Reports that come back to a sender, in order.
struct Returned<'a> {
    /// The first of it.
    first: &'a [(Time, Packet)],
    /// When the others begin; `Time::MAX` if there are none.
    others: Time,
}

impl<'a> Returned<'a> {
    /// When the next packet comes.
    #[inline(always)]
    fn next(&self) -> Time {
        self.first.first().map_or(self.others, |(at, _)| *at)
    }

    /// The next packet, unless it is one of the others.
    #[inline(always)]
    fn take(&mut self) -> Option<&'a (Time, Packet)> {
        self.first.split_off_first()
    }
}

/// Arrivals are recorded as many at a time, at most.
const ARRIVALS: usize = 64;

/// A flow that runs, over the two ends of one transport.
pub struct Flow<E: Ends> {
    sender: Planned<E::Sender>,
    receiver: E::Receiver,
    data: PacketPool<E::Data>,
    returning: PacketPool<E::Returning>,
    wiring: FlowWiring,
    receiver_ticker: Ticker,
    /// Answers to its packets, of a flow that shares.
    hearing: Hearing,
    events: u64,
    packets: u64,
}

impl<E: Ends> Flow<E> {
    /// A flow before anything happened.
    pub fn new(sender: E::Sender, receiver: E::Receiver, plan: Plan, wiring: FlowWiring) -> Flow<E> {
        Flow {
            sender: Planned::new(sender, plan),
            receiver,
            data: PacketPool::new(),
            returning: PacketPool::new(),
            receiver_ticker: wiring.ticker.clone(),
            wiring,
            hearing: Hearing::default(),
            events: 0,
            packets: 0,
        }
    }

    /// How the flow is connected.
    pub fn wiring(&self) -> &FlowWiring {
        &self.wiring
    }

    /// The watcher of its packets, if there is one.
    pub fn watch(&mut self) -> &mut Option<Box<Watch>> {
        &mut self.wiring.watch
    }

    /// The sending end.
    pub fn sender(&self) -> &E::Sender {
        self.sender.end()
    }

    /// Events at both ends.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Data packets that reached the receiver.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The recorder with its figures.
    pub fn into_recorder(self) -> FlowRecorder {
        self.wiring.recorder
    }

    /// When something happens next at the sender.
    pub fn sender_next(&self, edges: &Edges) -> Time {
        self.sender_due().min(edges[self.wiring.reports_in].next())
    }

    /// When something happens next at the receiver.
    pub fn receiver_next(&self, edges: &Edges) -> Time {
        self.receiver_due().min(edges[self.wiring.data_in].next())
    }

    /// The next time before `until` at which the sender is looked at.
    pub fn sender_tick(&self, until: Time) -> Option<Tick> {
        self.wiring.ticker.before(until)
    }

    /// Handles the next event at the sender, packets that leave apart; absent if that is not before `until`.
    pub fn handle_event(&mut self, until: Time, net: &mut Net) -> Option<Handled> {
        let own = self.sender.next_timeout();
        let event = self.run_sender(until, net, Part::Handling)?;
        match own {
            _ if event.heard => self.hearing.heard(event.now),
            Some((_, reason)) => {
                self.hearing.woken(event.now, reason, || self.sender.end().controller().snapshot().srtt);
            }
            None => {}
        }
        Some(event)
    }

    /// Sends the packets that may leave after the event.
    pub fn send_after(&mut self, event: Handled, net: &mut Net) {
        let sent = self.run_sender(event.now, net, Part::Sending(event));
        if sent.is_some_and(|event| event.sent) {
            self.hearing.sent(event.now);
        }
    }

    /// When the sender, which shares, falls silent unless something comes back before; `Time::MAX` for never.
    pub fn silent_at(&self) -> Time {
        self.hearing.silent_at().unwrap_or(Time::MAX)
    }

    /// Nothing has come back until [`Flow::silent_at`].
    pub fn fall_silent(&mut self) {
        self.hearing.fall_silent(self.srtt());
    }

    fn srtt(&self) -> Option<TimeDelta> {
        self.sender.end().controller().snapshot().srtt
    }

    /// The round trip that coupling is told; absent before the first sample.
    pub fn round_trip(&self) -> Option<TimeDelta> {
        self.hearing.round_trip(self.srtt())
    }

    /// When the sender wants to be called; `Time::MAX` for never.
    #[inline(always)]
    fn sender_due(&self) -> Time {
        self.sender.next_timeout().map_or(Time::MAX, |(due, _)| due)
    }

    /// When the receiver wants to be called; `Time::MAX` for never.
    #[inline]
    fn receiver_due(&self) -> Time {
        self.receiver.next_timeout().map_or(Time::MAX, |(due, _)| due)
    }

    /// Lets everything happen at the sender before `until`. Apart from the other transports' flows, so that each is compiled for itself.
    #[inline(never)]
    pub fn advance_sender(&mut self, until: Time, net: &mut Net) {
        loop {
            let tick = self.wiring.ticker.before(until);
            self.run_sender(tick.map_or(until, Tick::covers), net, Part::All);
            let Some(tick) = tick else { break };
            self.look_at_sender(tick);
        }
    }

    /// Lets everything happen at the receiver before `until`.
    #[inline(never)]
    pub fn advance_receiver(&mut self, until: Time, net: &mut Net) {
        loop {
            let tick = self.receiver_ticker.before(until);
            self.run_receiver(tick.map_or(until, Tick::covers), net);
            let Some(tick) = tick else { break };
            let recorder = &mut self.wiring.recorder;
            if let Tick::End(_) = tick {
                self.receiver.waiting(&mut |stream, frame| recorder.given_up(stream, frame));
            }
            recorder.tick_receiver(tick, self.receiver.playout());
            self.receiver_ticker.pass(tick);
        }
    }

    /// Looks at a sender that shares: everything that the tick covers has happened there.
    pub fn look_at_coupled_sender(&mut self, tick: Tick, coupled: Coupled) {
        self.wiring.recorder.coupled(coupled);
        self.look_at_sender(tick);
    }

    fn look_at_sender(&mut self, tick: Tick) {
        self.wiring.recorder.tick_sender(tick, self.sender.end());
        self.wiring.ticker.pass(tick);
    }

    /// Lets everything happen at the sender before `until`, or one part of it.
    fn run_sender(&mut self, until: Time, net: &mut Net, part: Part) -> Option<Handled> {
        loop {
            let lent = net.edges[self.wiring.reports_in].lend();
            let (first, others) = lent.as_slices();
            let others = others.first().map_or(Time::MAX, |(at, _)| *at);
            let mut returned = Returned { first, others };
            let handled = self.run_sender_on(&mut returned, until, net, part);
            let (left, taken) = (returned.first.len(), first.len() - returned.first.len());
            net.edges[self.wiring.reports_in].give_back(lent, taken);
            if left > 0 || others >= until || handled.is_some() {
                return handled;
            }
        }
    }

    /// The same as far as what comes back lies in one piece. One function for all parts: both halves of an event are large, and are
    /// compiled in line where they have one caller only.
    #[inline(never)]
    fn run_sender_on(
        &mut self,
        returned: &mut Returned<'_>,
        until: Time,
        net: &mut Net,
        part: Part,
    ) -> Option<Handled> {
        loop {
            let back = returned.next();
            let event = match part {
                Part::Sending(event) => event,
                Part::Handling => self.handle_next(returned, until, (back, self.sender_due()))?,
                Part::All => match self.leave_in_runs(until.min(back), net) {
                    Next::Paced(now) => self.leave_by_pace(now),
                    Next::Due(own) => self.handle_next(returned, until, (back, own))?,
                },
            };
            let sent = !matches!(part, Part::Handling) && self.send_due(event, net);
            if !matches!(part, Part::All) {
                return Some(Handled { sent, ..event });
            }
        }
    }

    /// The next event at the sender once those packets have left in runs that do so before `alone`, when something else may happen.
    #[inline(always)]
    fn leave_in_runs(&mut self, alone: Time, net: &mut Net) -> Next {
        loop {
            let next = self.sender.next(alone);
            if next.at() >= alone || self.wiring.watch.is_some() {
                return next;
            }
            match self.sender.poll_run(alone) {
                Some(run) => self.transmit_run(run, net),
                None => return next,
            }
        }
    }

    /// Handles the next event at the sender, packets that leave apart; absent if that is not before `until`. Of events at the
    /// same time what came `back` comes first, then the sender's `own`.
    #[inline(always)]
    fn handle_next(
        &mut self,
        returned: &mut Returned<'_>,
        until: Time,
        (back, own): (Time, Time),
    ) -> Option<Handled> {
        if back.min(own) >= until {
            return None;
        }
        if back <= own {
            let (_, packet) = returned.take()?;
            self.events += 1;
            self.take_returned(back, packet);
            return Some(Handled { now: back, counts: true, heard: true, sent: false });
        }
        self.events += 1;
        // Why is asked here alone: it takes longer than when.
        let counts = self.sender.next_timeout().is_none_or(|(_, reason)| reason != Reason::Pacing);
        self.sender.handle_timeout(own);
        Some(Handled { now: own, counts, heard: false, sent: false })
    }

    /// A packet leaves by its pace alone: nothing else happens.
    #[inline(always)]
    fn leave_by_pace(&mut self, now: Time) -> Handled {
        self.events += 1;
        Handled { now, counts: false, heard: false, sent: false }
    }

    /// Sends the packets that may leave after the event; false if there are none.
    #[inline(always)]
    fn send_due(&mut self, event: Handled, net: &mut Net) -> bool {
        let Handled { now, counts, .. } = event;
        let sent = self.transmit(now, net);
        if counts {
            self.wiring.recorder.reported(now, self.sender.end());
        }
        sent
    }

    /// The packets of a run leave, each at its time.
    #[inline]
    fn transmit_run(&mut self, run: Run<E::Data>, net: &mut Net) {
        let Run { packet: Transmit { packet, size, ecn, stream, queued }, first, gap, queued_gap, count } =
            run;
        let (edge, delay) = self.wiring.data_out;
        let size = size.as_u64() as u32 + self.wiring.overhead;
        let content = packet.pack(&mut self.data);
        self.events += count;
        let (mut now, mut waited) = (first, first - queued);
        let mut packet = self.packet(first, size, ecn, content, false);
        if E::FINDS_LINKS_IDLE {
            net.carry_run(edge, PacketRun { packet, at: first + delay, gap, count });
        }
        for _ in 0..count {
            self.wiring.recorder.sent(now, stream, Bytes::new(u64::from(size)), waited);
            if !E::FINDS_LINKS_IDLE {
                net.carry(edge, now + delay, &mut packet);
                packet.renew(now + gap, ecn);
            }
            now += gap;
            waited += gap - queued_gap;
        }
    }

    /// Assignments come from an exchange of rates.
    pub fn exchange_rates(&mut self) {
        self.sender.end_mut().exchange_rates();
    }

    /// Coupling replaces what the controller steers by; what may leave now leaves.
    pub fn assign(&mut self, now: Time, assigned: Assigned, net: &mut Net) {
        self.sender.end_mut().assign(now, assigned);
        self.send_after(Handled { now, counts: true, heard: false, sent: false }, net);
    }

    /// The share that coupling is told: absent while the flow does not send by plan, hears nothing, or is over.
    pub fn share(&self) -> Option<Assigned> {
        let shares = self.sender.is_active() && !self.hearing.is_silent() && !self.sender.end().is_over();
        if shares { self.sender.end().controller().share() } else { None }
    }

    #[inline]
    fn take_returned(&mut self, now: Time, packet: &Packet) {
        match E::Returning::copied(&packet.content) {
            Some(returned) => self.take_unpacked_back(now, packet, returned),
            None => self.take_pooled_back(now, packet),
        }
    }

    /// Apart from copies, whose path is short.
    #[inline(never)]
    fn take_pooled_back(&mut self, now: Time, packet: &Packet) {
        if let Some(returned) = self.returning.take(&packet.content) {
            self.take_unpacked_back(now, packet, returned);
        }
    }

    #[inline(always)]
    fn take_unpacked_back(&mut self, now: Time, packet: &Packet, returned: E::Returning) {
        if let Some(watch) = &mut self.wiring.watch {
            watch.answer_arrived(now, &returned, packet);
        }
        let sender = self.sender.end_mut();
        if let Some(used) = sender.receive(now, returned, packet.ecn) {
            self.receiver.recycle(used);
        }
        while let Some(transfer) = sender.poll_completed() {
            self.wiring.recorder.transferred(&transfer);
        }
    }

    /// Sends what may leave; false if there is nothing.
    #[inline(always)]
    fn transmit(&mut self, now: Time, net: &mut Net) -> bool {
        let (edge, delay) = self.wiring.data_out;
        let mut sent = false;
        while let Some(out) = self.sender.end_mut().poll_transmit(now) {
            let Transmit { packet, size, ecn, stream, queued } = out;
            let size = size.as_u64() as u32 + self.wiring.overhead;
            if let Some(watch) = &mut self.wiring.watch {
                watch.data_sent(now, &packet.clone(), ecn);
            }
            let content = packet.pack(&mut self.data);
            if content.data().is_some() {
                let waited = now.wrapping_since(queued);
                self.wiring.recorder.sent(now, stream, Bytes::new(u64::from(size)), waited);
            }
            let mut packet = self.packet(now, size, ecn, content, false);
            net.carry(edge, now + delay, &mut packet);
            sent = true;
        }
        sent
    }

    #[inline]
    fn packet(&self, sent: Time, size: u32, ecn: Ecn, content: Content, back: bool) -> Packet {
        Packet { flow: self.wiring.index, size, back, ecn, sent, wait: 0, noise: 0, content }
    }

    /// Of events at the same time the arrival comes first, then the receiver's own.
    #[inline]
    fn run_receiver(&mut self, until: Time, net: &mut Net) {
        loop {
            let own = self.receiver_due();
            let now = match self.take_arrivals(until, own, net) {
                Some(now) => now,
                // An arrival has moved it.
                None if self.receiver_due() != own => continue,
                None if own < until => {
                    self.events += 1;
                    self.receiver.handle_timeout(own);
                    own
                }
                None => break,
            };
            loop {
                while let Some((stream, frame)) = self.receiver.poll_given_up() {
                    self.wiring.recorder.given_up(stream, &frame);
                }
                let Some((stream, frame)) = self.receiver.poll_displayed() else { break };
                self.wiring.recorder.displayed(stream, &frame);
                if let (true, Some(watch)) = (E::CARRIES_BYTES, &mut self.wiring.watch) {
                    watch.frame_displayed(stream, &frame);
                }
            }
            self.send_back(now, net);
        }
        self.record_arrivals(net);
    }

    /// Takes what arrives before `until` and no later than the receiver's next timeout, which is `own`, up to a packet from which
    /// nobody knows what follows: answers when that came. Apart from what follows, so that the loop is short.
    #[inline(never)]
    fn take_arrivals(&mut self, until: Time, mut own: Time, net: &mut Net) -> Option<Time> {
        loop {
            let arriving = net.edges[self.wiring.data_in].lend();
            let (first, _) = arriving.as_slices();
            let (mut taken, mut stopped) = (0, None);
            for (now, packet) in &first[..first.len().min(ARRIVALS - net.arrivals.len())] {
                if *now >= until || *now > own {
                    break;
                }
                taken += 1;
                match self.take_data(*now, packet, &mut net.arrivals) {
                    Follows::Nothing => {}
                    Follows::Timeout(due) => own = due,
                    Follows::Answer(due) => {
                        own = due;
                        if let Some(answer) = self.receiver.answer(*now) {
                            self.send_one_back(*now, answer, net);
                        }
                    }
                    Follows::Unknown => {
                        stopped = Some(*now);
                        break;
                    }
                }
            }
            self.events += taken as u64;
            net.edges[self.wiring.data_in].give_back(arriving, taken);
            if net.arrivals.len() == ARRIVALS {
                self.record_arrivals(net);
            }
            if taken == 0 || stopped.is_some() {
                return stopped;
            }
        }
    }

    /// A packet arrives, and will be recorded with others.
    #[inline]
    fn take_data(&mut self, now: Time, packet: &Packet, arrivals: &mut Vec<ReceivedPacket>) -> Follows {
        match E::Data::copied(&packet.content) {
            Some(data) => self.take_unpacked(now, packet, data, arrivals),
            None => self.take_pooled(now, packet, arrivals),
        }
    }

    /// Apart from copies, whose path is short.
    #[inline(never)]
    fn take_pooled(&mut self, now: Time, packet: &Packet, arrivals: &mut Vec<ReceivedPacket>) -> Follows {
        let Some(mut data) = self.data.take(&packet.content) else { return Follows::Unknown };
        if let Content::Headed(_, header) = packet.content {
            data.set_congestion(header);
        }
        self.take_unpacked(now, packet, data, arrivals)
    }

    #[inline(always)]
    fn take_unpacked(
        &mut self,
        now: Time,
        packet: &Packet,
        data: E::Data,
        arrivals: &mut Vec<ReceivedPacket>,
    ) -> Follows {
        let queue_delay = TimeDelta::from_nanos(packet.wait);
        let facts = PathFacts { sent: Some(packet.sent), wait: Some(queue_delay) };
        let (delay_noise, duplicate) = match &mut self.wiring.watch {
            // A copy, here and below, so that what nobody watches need not lie in memory.
            Some(watch) => (packet.delay_noise(), watch.data_arrived(now, &data.clone(), packet)),
            // No link on its way copies packets.
            None => (TimeDelta::from_nanos(packet.noise), false),
        };
        let Received { stream, payload, follows } = self.receiver.receive(now, data, packet.ecn, facts);
        let shows = E::tell_application(now, self.sender.end_mut(), &mut self.receiver);
        if packet.content.data().is_some() {
            let size = Bytes::new(u64::from(packet.size));
            let Packet { sent, ecn, .. } = *packet;
            arrivals.push(ReceivedPacket {
                now,
                stream,
                size,
                payload,
                sent,
                queue_delay,
                delay_noise,
                ecn,
                duplicate,
            });
        }
        if shows { Follows::Unknown } else { follows }
    }

    /// Records what arrived since it was last done.
    #[inline(never)]
    fn record_arrivals(&mut self, net: &mut Net) {
        self.packets += net.arrivals.len() as u64;
        self.wiring.recorder.received(&net.arrivals);
        net.arrivals.clear();
    }

    /// Sends the reports that are to go back.
    #[inline(never)]
    fn send_back(&mut self, now: Time, net: &mut Net) {
        while let Some(out) = self.receiver.poll_transmit(now) {
            self.send_one_back(now, out, net);
        }
    }

    #[inline(always)]
    fn send_one_back(&mut self, now: Time, out: Transmit<E::Returning>, net: &mut Net) {
        let Transmit { packet, size, ecn, .. } = out;
        let (edge, delay) = self.wiring.reports_out;
        if let Some(watch) = &mut self.wiring.watch {
            watch.answer_sent(now, &packet.clone(), ecn);
        }
        let content = packet.pack(&mut self.returning);
        let size = size.as_u64() as u32 + self.wiring.overhead;
        let mut packet = self.packet(now, size, ecn, content, true);
        net.carry(edge, now + delay, &mut packet);
    }

    /// A packet was lost on its way; it would have arrived at `missed` at the earliest.
    pub fn drop_packet(&mut self, missed: Time, packet: &Packet) {
        if packet.back {
            if let Some(lost) = E::Returning::unpack(&packet.content, &mut self.returning) {
                self.receiver.recycle(lost);
            }
            return;
        }
        let copies = self.wiring.watch.as_mut().and_then(|watch| watch.copies.as_mut());
        let missed = copies.map_or(Some(missed), |copies| copies.lost(missed, packet));
        if let (Some(missed), Some(stream)) = (missed, packet.content.data()) {
            self.wiring.recorder.lost(missed, stream, packet.sent);
        }
        drop(E::Data::unpack(&packet.content, &mut self.data));
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
