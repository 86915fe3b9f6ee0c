//! The congestion control of a DCCP connection: the controller of its flow, by its CCID.

use paceline_cc::ccid::ccid2::{AckPath, Params};
use paceline_cc::ccid::ccid3::Ccid3Receiver;
use paceline_cc::{AnyController, ControllerParams};
use paceline_transport::dccp::{CCID_2, CCID_3, Ccid, Ccids};

/// Makes the halves of one flow's controller, and of no other.
#[derive(Clone, Debug)]
pub struct FlowCcids {
    ccid: Ccid,
    controller: AnyController,
    half: Option<Ccid3Receiver>,
    ack_path: AckPath,
}

impl FlowCcids {
    /// Of a controller that has seen nothing; none if its kind is no CCID.
    pub fn new(params: &ControllerParams, controller: &AnyController) -> Option<FlowCcids> {
        let (ccid, half, ack_path) = match params {
            ControllerParams::Ccid2(params) => (CCID_2, None, AckPath::new(params)),
            ControllerParams::Ccid3(params) => {
                (CCID_3, Some(Ccid3Receiver::new(params)), AckPath::new(&Params::default()))
            }
            _ => return None,
        };
        Some(FlowCcids { ccid, controller: controller.clone(), half, ack_path })
    }

    /// Number of the congestion control (CCID).
    pub fn ccid(&self) -> Ccid {
        self.ccid
    }
}

impl Ccids for FlowCcids {
    type Sender = AnyController;
    type Receiver = Ccid3Receiver;

    fn sender(&self, ccid: Ccid) -> Option<AnyController> {
        (ccid == self.ccid).then(|| self.controller.clone())
    }

    fn receiver(&self, ccid: Ccid) -> Option<Ccid3Receiver> {
        self.half.clone().filter(|_| ccid == self.ccid)
    }

    fn ack_path(&self) -> AckPath {
        self.ack_path.clone()
    }
}
