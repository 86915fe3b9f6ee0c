//! Where congestion control comes from: the two halves of each CCID (RFC 4340 section 10).

use super::LossIntervals;
use paceline_cc::{Controller, ReceiverHalf, Update};
use paceline_units::Time;

/// The number of a congestion control (RFC 4340 table 5).
pub type Ccid = u8;

/// TCP-like (RFC 4341): the receiver sends Ack Vectors, the sender reads them as reports of packets.
pub const CCID_2: Ccid = 2;
/// TFRC (RFC 4342): the receiver half's report goes as options, the sender's window counter as CCVal.
pub const CCID_3: Ccid = 3;

/// Makes the halves of a connection's congestion control once its CCIDs are agreed.
///
/// What a sender half is told: data packets with their numbers from the first packet of the connection on (numbers of
/// packets without data are skipped), and what came back. Under CCID 3 that is the receiver half's
/// [`paceline_cc::ReceiverReport::Tfrc`], else a report of packets: each data packet that an Ack Vector tells for the
/// first time, and each that it tells as missing. Losses are the controller's to infer: no
/// [`paceline_cc::Controller::on_recovery`] is called.
///
/// What a receiver half is told: every packet that arrives, with its number and, of data packets, CCVal as window
/// counter. A packet without data has size zero: it fills its number and brings nothing.
pub trait Ccids {
    /// The half that sends.
    type Sender: Controller;
    /// The half that receives, where the CCID has one.
    type Receiver: ReceiverHalf;

    /// The sender half of a CCID; none if it is not there, and then it is never agreed on.
    fn sender(&self, ccid: Ccid) -> Option<Self::Sender>;

    /// The receiver half of a CCID; none if acknowledgements by Ack Ratio do (CCID 2).
    fn receiver(&self, ccid: Ccid) -> Option<Self::Receiver>;

    /// Acknowledgements that carry no data were lost or marked since this was last asked (RFC 4341 section 6.1.1).
    fn on_acknowledgments(sender: &mut Self::Sender, now: Time, lost: u32, marked: u32) -> Update {
        let _ = (sender, now, lost, marked);
        Update::none()
    }

    /// The receiver is slow, or dropped so many packets for want of room (RFC 4341 section 5.2). They count as marked
    /// besides.
    fn on_slow_receiver(sender: &mut Self::Sender, now: Time, dropped: u32) -> Update {
        let _ = (sender, now, dropped);
        Update::none()
    }

    /// CCID 3's loss intervals, to go with its report; its numbers end at the newest packet (RFC 4342 section 8.6).
    fn loss_intervals(receiver: &Self::Receiver) -> Option<LossIntervals> {
        let _ = receiver;
        None
    }
}
