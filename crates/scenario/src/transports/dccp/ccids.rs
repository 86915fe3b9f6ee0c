//! The congestion control of a DCCP connection: the controller of its flow, by its CCID.

use paceline_cc::ccid::CcidReceiver;
use paceline_cc::ccid::ccid2::{AckPath, Ccid2, Params};
use paceline_cc::ccid::ccid3::{Ccid3, Ccid3Receiver};
use paceline_cc::{AnyController, Controller, ControllerParams, NoReceiverHalf};
use paceline_dccp::{CCID_2, CCID_3, Ccid, Ccids};

/// Makes the halves of one flow's controller, and of no other.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "one per flow, never moved in the packet path")]
pub enum FlowCcids {
    /// Of CCID 2, which has no receiver half.
    Ccid2(Halves<Ccid2, NoReceiverHalf>),
    /// Of CCID 3.
    Ccid3(Halves<Ccid3, Ccid3Receiver>),
}

/// Makes the halves of a controller whose type is known: what drives them is compiled for it.
#[derive(Clone, Debug)]
pub struct Halves<C, R> {
    ccid: Ccid,
    controller: C,
    half: Option<R>,
    ack_path: AckPath,
}

impl FlowCcids {
    /// Of a controller that has seen nothing; none if its kind is no CCID.
    pub fn new(params: &ControllerParams, controller: &AnyController) -> Option<FlowCcids> {
        match (params, controller.clone()) {
            (ControllerParams::Ccid2(params), AnyController::Ccid2(controller)) => {
                let ack_path = AckPath::new(params);
                Some(FlowCcids::Ccid2(Halves { ccid: CCID_2, controller, half: None, ack_path }))
            }
            (ControllerParams::Ccid3(params), AnyController::Ccid3(controller)) => {
                let (half, ack_path) = (Some(Ccid3Receiver::new(params)), AckPath::new(&Params::default()));
                Some(FlowCcids::Ccid3(Halves { ccid: CCID_3, controller, half, ack_path }))
            }
            _ => None,
        }
    }

    /// Number of the congestion control (CCID).
    pub fn ccid(&self) -> Ccid {
        match self {
            FlowCcids::Ccid2(halves) => halves.ccid,
            FlowCcids::Ccid3(halves) => halves.ccid,
        }
    }
}

impl<C, R> Halves<C, R> {
    /// The controller, which has seen nothing.
    pub fn controller(&self) -> &C {
        &self.controller
    }
}

impl Ccids for FlowCcids {
    type Sender = AnyController;
    type Receiver = Ccid3Receiver;

    fn sender(&self, ccid: Ccid) -> Option<AnyController> {
        match self {
            FlowCcids::Ccid2(halves) => halves.sender(ccid).map(AnyController::Ccid2),
            FlowCcids::Ccid3(halves) => halves.sender(ccid).map(AnyController::Ccid3),
        }
    }

    fn receiver(&self, ccid: Ccid) -> Option<Ccid3Receiver> {
        match self {
            FlowCcids::Ccid2(_) => None,
            FlowCcids::Ccid3(halves) => halves.receiver(ccid),
        }
    }

    fn ack_path(&self) -> AckPath {
        match self {
            FlowCcids::Ccid2(halves) => halves.ack_path(),
            FlowCcids::Ccid3(halves) => halves.ack_path(),
        }
    }
}

impl<C: Controller + Clone, R: CcidReceiver + Clone> Ccids for Halves<C, R> {
    type Sender = C;
    type Receiver = R;

    fn sender(&self, ccid: Ccid) -> Option<C> {
        (ccid == self.ccid).then(|| self.controller.clone())
    }

    fn receiver(&self, ccid: Ccid) -> Option<R> {
        self.half.clone().filter(|_| ccid == self.ccid)
    }

    fn ack_path(&self) -> AckPath {
        self.ack_path.clone()
    }
}
