//! What a run over real sockets answers: what a simulated one does, and what the sockets saw.

use paceline_metrics::Summary;
use paceline_metrics::TimeSeries;

/// Figures and time series of one end, as that end knows them; what it does not know is absent.
#[derive(Clone, PartialEq, Debug)]
pub struct NetOutput {
    /// The figures of `summary.json`.
    pub summary: Summary,
    /// Time series of the flow.
    pub flows: TimeSeries,
    /// The table of links; without rows but at a relay.
    pub links: TimeSeries,
    /// Counts of the datagrams that the sockets saw.
    pub counters: NetCounters,
    /// What was odd but no reason to stop.
    pub warnings: Vec<String>,
}

/// What the sockets of one end saw, over the whole run. Whatever is refused changes nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NetCounters {
    /// Number of datagrams received, of any kind.
    pub received: u64,
    /// Number of datagrams sent.
    pub sent: u64,
    /// Datagrams that the system refused to send (full buffers, no route).
    pub unsendable: u64,
    /// Refused: not RTP or RTCP, or not DCCP, cut short, otherwise not what their headers say, or media of another payload
    /// type.
    pub malformed: u64,
    /// Refused: from another address than the peer's, or of another connection.
    pub unknown_peers: u64,
    /// Refused: RTP or report blocks of an SSRC that is not of this session.
    pub unknown_ssrc: u64,
    /// Refused: RTP packets whose sequence number is too far from the others (RFC 3550 appendix A.1), DCCP packets that
    /// are not valid in the connection (RFC 4340 section 7.5).
    pub out_of_sequence: u64,
    /// Well-formed RTCP that is no congestion control feedback: left alone.
    pub other_rtcp: u64,
    /// Reports on packets that were never sent, or too long ago: they changed nothing.
    pub unknown_reports: u64,
    /// Packets of unknown peers that a DCCP receiver did not answer with a Reset or a cookie, since those are limited in rate.
    pub unanswered: u64,
    /// Packets that had arrived before.
    pub duplicates: u64,
    /// Dropped by a relay for want of memory; no property of its link.
    pub overflowed: u64,
}

impl NetCounters {
    /// Adds what the sockets of another flow saw.
    pub(crate) fn add(&mut self, other: NetCounters) {
        let NetCounters {
            received,
            sent,
            unsendable,
            malformed,
            unknown_peers,
            unknown_ssrc,
            out_of_sequence,
            other_rtcp,
            unknown_reports,
            unanswered,
            duplicates,
            overflowed,
        } = other;
        self.received += received;
        self.sent += sent;
        self.unsendable += unsendable;
        self.malformed += malformed;
        self.unknown_peers += unknown_peers;
        self.unknown_ssrc += unknown_ssrc;
        self.out_of_sequence += out_of_sequence;
        self.other_rtcp += other_rtcp;
        self.unknown_reports += unknown_reports;
        self.unanswered += unanswered;
        self.duplicates += duplicates;
        self.overflowed += overflowed;
    }
}
