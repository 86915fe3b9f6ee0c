//! A flow of any transport: which one is asked once per window.

pub use crate::transports::AnyFlow;

use crate::capture::FlowCapture;
use crate::edge::Edges;
use crate::flow::{FlowWiring, Handled};
use crate::log::MediaLog;
use crate::net::Net;
use crate::packet::Packet;
use crate::transports::each_flow;
use paceline_cc::Assigned;
use paceline_cc::shared_bottleneck::DelaySummary;
use paceline_ends::{Coupled, SendingEnd};
use paceline_metrics::{FlowRecorder, Tick};
use paceline_units::{Bitrate, Time, TimeDelta};

impl AnyFlow {
    /// How the flow is connected.
    pub fn wiring(&self) -> &FlowWiring {
        each_flow!(self, flow => flow.wiring())
    }

    /// When something happens next at the sender.
    pub fn sender_next(&self, edges: &Edges) -> Time {
        each_flow!(self, flow => flow.sender_next(edges))
    }

    /// When something happens next at the receiver.
    pub fn receiver_next(&self, edges: &Edges) -> Time {
        each_flow!(self, flow => flow.receiver_next(edges))
    }

    /// Lets everything happen at the sender before `until`.
    pub fn advance_sender(&mut self, until: Time, net: &mut Net) {
        each_flow!(self, flow => flow.advance_sender(until, net));
    }

    /// Handles the next event at the sender, packets that leave apart; absent if that is not before `until`.
    pub fn handle_next(&mut self, until: Time, net: &mut Net) -> Option<Handled> {
        each_flow!(self, flow => flow.handle_event(until, net))
    }

    /// Sends the packets that may leave after the event.
    pub fn send_due(&mut self, event: Handled, net: &mut Net) {
        each_flow!(self, flow => flow.send_after(event, net));
    }

    /// When the sender, which shares, falls silent unless something comes back before; `Time::MAX` for never.
    pub fn silent_at(&self) -> Time {
        each_flow!(self, flow => flow.silent_at())
    }

    /// Nothing has come back until [`AnyFlow::silent_at`].
    pub fn fall_silent(&mut self) {
        each_flow!(self, flow => flow.fall_silent());
    }

    /// The next time before `until` at which the sender is looked at.
    pub fn sender_tick(&self, until: Time) -> Option<Tick> {
        each_flow!(self, flow => flow.sender_tick(until))
    }

    /// Looks at a sender that shares: everything that the tick covers has happened there.
    pub fn look_at_coupled_sender(&mut self, tick: Tick, coupled: Coupled) {
        each_flow!(self, flow => flow.look_at_coupled_sender(tick, coupled));
    }

    /// The share that coupling is told of the flow: absent while it does not send by plan, hears nothing, or is over.
    pub fn share(&self) -> Option<Assigned> {
        each_flow!(self, flow => flow.share())
    }

    /// When and why the flow ended although nobody ended it; absent if it did not.
    pub fn failure(&self) -> Option<(Time, &'static str)> {
        each_flow!(self, flow => flow.sender().failure())
    }

    /// Rate that the application could use; absent if it can use any.
    pub fn desired(&self) -> Option<Bitrate> {
        each_flow!(self, flow => flow.sender().desired())
    }

    /// The round trip that coupling is told; absent before the first sample.
    pub fn round_trip(&self) -> Option<TimeDelta> {
        each_flow!(self, flow => flow.round_trip())
    }

    /// The newest summary of the delays of its packets.
    pub fn delay_summary(&self) -> Option<&DelaySummary> {
        each_flow!(self, flow => flow.sender().delay_summary())
    }

    /// Assignments come from an exchange of rates.
    pub fn exchange_rates(&mut self) {
        each_flow!(self, flow => flow.exchange_rates());
    }

    /// Coupling replaces what the controller steers by; what may leave now leaves.
    pub fn assign(&mut self, now: Time, assigned: Assigned, net: &mut Net) {
        each_flow!(self, flow => flow.assign(now, assigned, net));
    }

    /// Lets everything happen at the receiver before `until`.
    pub fn advance_receiver(&mut self, until: Time, net: &mut Net) {
        each_flow!(self, flow => flow.advance_receiver(until, net));
    }

    /// A packet was lost on its way; it would have arrived at `missed` at the earliest.
    pub fn drop_packet(&mut self, missed: Time, packet: &Packet) {
        each_flow!(self, flow => flow.drop_packet(missed, packet));
    }

    /// Events at both ends.
    pub fn events(&self) -> u64 {
        each_flow!(self, flow => flow.events())
    }

    /// Data packets that reached the receiver.
    pub fn packets(&self) -> u64 {
        each_flow!(self, flow => flow.packets())
    }

    /// The recorder with its figures.
    pub fn into_recorder(self) -> FlowRecorder {
        each_flow!(self, flow => flow.into_recorder())
    }

    /// The log of packets of pictures, if there is one.
    pub fn take_log(&mut self) -> Option<Box<MediaLog>> {
        each_flow!(self, flow => flow.watch().as_mut()?.media.take())
    }

    /// Keeps the flow's packets in `capture` from now on.
    pub fn set_capture(&mut self, capture: FlowCapture) {
        let watch = each_flow!(self, flow => flow.watch());
        watch.get_or_insert_default().capture = Some(capture);
    }

    /// The packets that are kept, if they are.
    pub fn capture(&mut self) -> Option<&mut FlowCapture> {
        each_flow!(self, flow => flow.watch().as_mut()?.capture.as_mut())
    }
}
