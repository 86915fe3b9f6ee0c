//! Where congestion control comes from: the two halves of each CCID (RFC 4340 section 10).

use paceline_cc::Controller;
use paceline_cc::ccid::CcidReceiver;
use paceline_cc::ccid::ccid2::{self, AckPath};

/// The number of a congestion control (RFC 4340 table 5).
pub type Ccid = u8;

/// TCP-like (RFC 4341): the receiver sends Ack Vectors, the sender reads them as reports of packets.
pub const CCID_2: Ccid = 2;
/// TFRC (RFC 4342): the receiver half's report goes as options, the sender's window counter as CCVal.
pub const CCID_3: Ccid = 3;

/// Makes the halves of a connection's congestion control once its CCIDs are agreed.
///
/// A sender half is told of data packets with their numbers from the first packet of the connection on, and of what came
/// back, in this order for each acknowledgement: [`paceline_cc::ccid::CcidReport::AckPath`], `SlowReceiver`, `DataDropped` with each
/// packet once, and the report. Under CCID 3 that is `LossIntervals` or, where the other end sends none,
/// [`paceline_cc::ReceiverReport::Tfrc`]; else `Packets`: each packet that an Ack Vector tells for the first time,
/// with data or not, and each data packet that it tells as missing. Losses are the controller's to infer: no
/// [`paceline_cc::Controller::on_recovery`] is called.
///
/// A receiver half is told of every packet that arrives, with its number and, of data packets, CCVal as window counter.
/// A data packet whose checksum is wrong is told as marked (RFC 4340 section 11.7.2).
pub trait Ccids {
    /// The CCID's sender half: the controller.
    type Sender: Controller;
    /// The half that receives, where the CCID has one.
    type Receiver: CcidReceiver;

    /// The sender half of a CCID; none if it is not there, and then it is never agreed on.
    fn sender(&self, ccid: Ccid) -> Option<Self::Sender>;

    /// The receiver half of a CCID; none if acknowledgements by Ack Ratio do (CCID 2).
    fn receiver(&self, ccid: Ccid) -> Option<Self::Receiver>;

    /// The part that finds lost acknowledgements for a sender half (RFC 4341 section 6.1.1).
    fn ack_path(&self) -> AckPath {
        AckPath::new(&ccid2::Params::default())
    }
}
