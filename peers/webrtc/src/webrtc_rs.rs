//! `Gcc` of rtc-interceptor, which is told each report as the interceptor around it would.

use crate::Limits;
use paceline_cc::{Assigned, PacketsReport, SentPacket, Status};
use paceline_guest::{Answer, Failure, Mind};
use paceline_units::{Bytes, Time};
use rtc_interceptor::{BandwidthEstimator, Gcc, PacketReport};
use rtc_rtcp::transport_feedbacks::cc_feedback_report::Ecn;
use std::time::{Duration, Instant};

pub struct WebrtcRs {
    gcc: Gcc,
    /// The run's zero.
    zero: Instant,
}

impl WebrtcRs {
    pub fn new(limits: &Limits) -> WebrtcRs {
        let Limits { min, start, max } = limits;
        WebrtcRs {
            gcc: Gcc::new(start.as_bps_f64(), min.as_bps_f64(), max.as_bps_f64()),
            zero: Instant::now(),
        }
    }

    fn instant(&self, time: Time) -> Instant {
        self.zero + Duration::from_nanos(time.as_nanos() as u64)
    }

    /// The pacer of that stack sends at the target itself.
    fn answer(&self) -> Answer {
        let target = Some(self.gcc.target_bitrate() / 1e6);
        Answer { target_mbps: target, pacing_mbps: target, ..Answer::default() }
    }
}

impl Mind for WebrtcRs {
    fn start(&mut self, _now: Time) -> Result<Answer, Failure> {
        Ok(self.answer())
    }

    fn sent(&mut self, _now: Time, _packet: &SentPacket) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }

    fn report(&mut self, now: Time, report: &PacketsReport<'_>) -> Result<Answer, Failure> {
        let reports: Vec<_> = report
            .packets
            .iter()
            .map(|packet| {
                let (arrival, ecn) = match packet.status {
                    Status::Missing => (None, Ecn::NotEct),
                    Status::Received { arrived, ecn } => {
                        let arrival = arrived.map(|arrived| Duration::from_nanos(arrived.as_nanos() as u64));
                        (arrival, if ecn.is_ce() { Ecn::Ce } else { Ecn::NotEct })
                    }
                };
                PacketReport {
                    ssrc: packet.stream.0.into(),
                    id: packet.sequence,
                    rtp_sequence_number: packet.sequence as u16,
                    is_twcc: false,
                    twcc_sequence_number: 0,
                    size: packet.size.as_u64() as usize,
                    arrived: packet.status != Status::Missing,
                    departure: self.instant(packet.sent),
                    arrival,
                    ecn,
                }
            })
            .collect();
        let now = self.instant(now);
        self.gcc.on_reports(now, &reports);
        Ok(self.answer())
    }

    fn timeout(&mut self, _now: Time) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }

    fn recovery(&mut self, _now: Time, _event: &'static str, _bytes: Bytes) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }

    fn assigned(&mut self, _now: Time, _assigned: Assigned) -> Result<Answer, Failure> {
        Ok(Answer::default())
    }
}
