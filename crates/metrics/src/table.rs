//! The table of figures. A new one is a line here and the code that counts it.
//!
//! A line: name, title, [unit, what an end must know], definition; then `column`, with how a cell is made of its interval and
//! where it is sampled; `summary`, with how the field is made of the window, its type and where it is measured; and `shown`,
//! its place in the table on the terminal.

use crate::figure::{Aggregate, Cell, Facts, Figure};
use crate::histogram::Histogram;
use crate::recorder::{
    CouplingRecord, FlowRecorder, LinkRecorder, PairRecord, TransferRecord, per_time, ratio,
};
use paceline_units::{Bitrate, Bytes, TimeDelta};
use serde::Serialize;
use std::collections::BTreeMap;

const NONE: Facts = Facts::NONE;
const SENDER: Facts = Facts::SENDER;
const ARRIVALS: Facts = Facts::ARRIVALS;
const CLOCKS: Facts = ARRIVALS.and(Facts::CLOCKS);
const WAITS: Facts = ARRIVALS.and(Facts::LINK_QUEUES);
const DISPLAY: Facts = Facts::DISPLAY;
const FRAME_DELAY: Facts = DISPLAY.and(Facts::CLOCKS);

fields! {
    /// Everything that is said about a run.
    Summary {
        name "name" ["", NONE] "The scenario's name.", summary Key: String;
        seed "seed" ["", NONE] "Root of the random streams.", summary Key: u64;
        duration_s "duration" ["s", NONE] "How long was simulated, or how long the run took.", summary Level: f64;
        wall_s "wall time" ["s", NONE] "How long the event loop took, without start-up, reading and writing.", summary Level: f64;
        packets "packets" ["packets", ARRIVALS] "Data packets that reached a receiver, over the whole run, each once whatever its hops.", summary Count: Option<u64>;
        events "events" ["events", NONE] "Events that were handled, over the whole run.", summary Count: u64;
        flows "flows" ["", NONE] "The flows, by name.", summary Group: BTreeMap<String, FlowSummary>;
        links "links" ["", NONE] "The links, by name.", summary Group: BTreeMap<String, LinkSummary>;
        fairness "fairness" ["", NONE] "How evenly the flows share.", summary Group: Fairness;
        pairs "pairs" ["", NONE] "The decisions about each two flows whose host looks for shared bottlenecks, by their names (`ONE+OTHER`); absent where nobody looks.", summary Group: Option<BTreeMap<String, PairSummary>>;
        sockets "sockets" ["", NONE] "Counts of the sockets of this end; absent in a simulation.", summary Group: Option<NetCounters>;
        version "version" ["", NONE] "The build that made this: release, commit, whether the tree was changed since, digest of the sources.", summary Key: String;
    }
}

figures! {
    /// The figures of a flow.
    FlowSummary of FlowRecorder {
        controller "controller" ["", NONE] "The kind of controller.", summary Key: &'static str = |flow| flow.config.controller;
        profile "profile" ["", NONE] "The profile of the controller's parameters.", summary Key: String = |flow| flow.config.profile.clone();
        time_s "time" ["s", NONE] "When the interval of the row ends.", column Key = Cell::Key;
        flow "flow" ["", NONE] "The flow's name.", column Key = Cell::Key;
        stream "stream" ["", NONE] "The stream's name, or its number.", column Key = Cell::Key;
        target_bitrate_mbps "target bitrate" ["Mbit/s", SENDER] "Bitrate that the encoder is told to produce; in the summary over all streams.",
            column Level = Cell::Sender(|sample| sample.target.map(Bitrate::as_mbps_f64)),
            summary TimeAverage: Option<f64> = |flow| flow.sender.target_mbps(), shown 3;
        throughput_mbps "throughput" ["Mbit/s", ARRIVALS] "Sizes on the link of the data packets that arrived, duplicates in.",
            column Rate = Cell::Receiver(|sample| per_time(sample.sums.bytes, sample.seconds)),
            summary Rate: Option<f64> = |flow| flow.mbps(flow.receiver.bytes), shown 1;
        goodput_mbps "goodput" ["Mbit/s", ARRIVALS.and(Facts::PAYLOAD)] "Payload that arrived, used once.",
            summary Rate: Option<f64> = |flow| flow.mbps(flow.receiver.goodput_bytes), shown 2;
        send_rate_mbps "send rate" ["Mbit/s", SENDER] "Sizes on the link of the data packets that left the sender.",
            column Rate = Cell::Sender(|sample| per_time(sample.sums.bytes, sample.seconds));
        cwnd_bytes "congestion window" ["B", SENDER] "Most bytes that the controller lets be in flight.",
            column Level = Cell::Sender(|sample| sample.snapshot.window.map(Bytes::as_f64));
        bytes_in_flight "bytes in flight" ["B", SENDER] "Bytes sent and not yet acknowledged, as the controller counts them.",
            column Level = Cell::Sender(|sample| sample.snapshot.in_flight.map(Bytes::as_f64));
        srtt_ms "smoothed RTT" ["ms", SENDER] "The sender's smoothed round-trip time.",
            column Level = Cell::Sender(|sample| sample.snapshot.srtt.map(TimeDelta::as_millis_f64)),
            summary TimeDistribution: Distribution = |flow| (&flow.sender.srtt).into(), shown 6;
        queue_delay_estimate_ms "queue delay estimate" ["ms", SENDER] "The controller's estimate of the wait in link queues.",
            column Level = Cell::Sender(|sample| sample.snapshot.queue_delay.map(TimeDelta::as_millis_f64));
        queue_delay_ms "queue delay" ["ms", WAITS] "Wait in link queues of packets that arrived, summed over links, own serialisation out.",
            column Mean = Cell::Receiver(|sample| sample.mean_millis(sample.sums.queue_delay)),
            summary Distribution: Distribution = |flow| (&flow.receiver.queue_delay).into(), shown 4;
        delay_noise_ms "delay noise" ["ms", ARRIVALS.and(Facts::NOISE)] "Delay that noise added to packets that arrived.",
            summary Distribution: Distribution = |flow| (&flow.receiver.delay_noise).into();
        send_queue_delay_ms "send-queue delay" ["ms", SENDER] "Wait of sent packets in the send queue.",
            column Mean = Cell::Sender(|sample| ratio(sample.sums.send_queue_delay as f64 / 1e6, sample.sums.packets as f64)),
            summary Distribution: Distribution = |flow| (&flow.sender.send_queue_delay).into(), shown 7;
        send_queue_bytes "send queue" ["B", SENDER] "Bytes that wait in the send queue, headers in.",
            column Level = Cell::Sender(|sample| sample.queue.map(Bytes::as_f64));
        frame_bytes "frame size" ["B", SENDER] "Size of the newest frame in the send queue, headers in.",
            column Level = Cell::Sender(|sample| sample.frame.map(Bytes::as_f64));
        coupled_group "group of coupled flows" ["", SENDER] "Number of the group that the flow shares in, counted from 0 in its coupling; absent, like the following, while it does not share.",
            column Level = Cell::Sender(|sample| sample.group.map(|group| group as f64));
        coupled_sum_mbps "sum of the group" ["Mbit/s", SENDER] "Sum of the rates that the flow's group shares out (RFC 8699: S_CR).",
            column Level = Cell::Sender(|sample| sample.shared(|share| Some(share.sum)));
        coupled_rate_mbps "rate given" ["Mbit/s", SENDER] "Rate that its group gave the flow last (RFC 8699: FSE_R).",
            column Level = Cell::Sender(|sample| sample.shared(|share| Some(share.rate)));
        coupled_desired_mbps "desired rate" ["Mbit/s", SENDER] "Rate that the flow's application could use, as its group knows it (RFC 8699: DR); absent if it can use any.",
            column Level = Cell::Sender(|sample| sample.shared(|share| share.desired));
        coupled_priority "priority" ["", SENDER] "Weight by which the flow shares (RFC 8699: P).",
            column Level = Cell::Sender(|sample| sample.share.map(|share| share.priority.weight()));
        delay_skewness "skewness of delays" ["", SENDER] "Whether delays lie above their mean (-1) or below it (1), of flows whose host looks for shared bottlenecks (RFC 8382: skew_est); absent, like the following, before the first summary.",
            column Level = Cell::Sender(|sample| sample.delays.map(|delays| delays.skewness));
        delay_variability_ms "variability of delays" ["ms", SENDER] "Mean absolute deviation of delays (RFC 8382: var_est).",
            column Level = Cell::Sender(|sample| sample.delays.map(|delays| delays.variability.as_millis_f64()));
        delay_frequency "frequency of delays" ["ratio", SENDER] "Significant crossings of the mean delay for each interval (RFC 8382: freq_est).",
            column Level = Cell::Sender(|sample| sample.delays.map(|delays| delays.frequency));
        delay_loss "loss beside delays" ["ratio", SENDER] "Part of the packets that was lost, as the summary of delays has it (RFC 8382: pkt_loss).",
            column Level = Cell::Sender(|sample| sample.delays.map(|delays| delays.loss));
        delay_bottleneck "bottleneck" ["", SENDER] "1 while the flow is held to pass a bottleneck, else 0 (RFC 8382 section 3.3.1, step 1).",
            column Level = Cell::Sender(|sample| sample.delays.map(|delays| f64::from(u8::from(delays.bottleneck))));
        ce_ratio "CE-marked" ["ratio", ARRIVALS] "Of the packets that arrived, those marked CE.",
            column Share = Cell::Receiver(|sample| ratio(sample.sums.ce as f64, sample.sums.packets as f64)),
            summary Share: Option<f64> = |flow| ratio(flow.receiver.ce as f64, flow.receiver.packets as f64), shown 10;
        loss_ratio "lost" ["ratio", ARRIVALS] "Of the packets sent, those that never arrive; those still under way are in neither.",
            column Share = Cell::Losses, summary Share: Option<f64> = |flow| flow.receiver.loss_ratio(), shown 9;
        one_way_delay_ms "one-way delay" ["ms", CLOCKS] "From sending to arrival.",
            column Mean = Cell::Receiver(|sample| sample.mean_millis(sample.sums.one_way_delay)),
            summary Distribution: Distribution = |flow| (&flow.receiver.one_way_delay).into(), shown 5;
        delay_above_minimum_ms "delay above the minimum" ["", CLOCKS] "By how much a packet's one-way delay exceeds the smallest in the window (PDV of RFC 5481; what papers call operating delay).",
            summary Group: AboveMinimum = |flow| AboveMinimum::of(&flow.receiver.one_way_delay, flow.config.facts);
        delay_variation_ms "delay variation" ["ms", CLOCKS] "By how much a packet's one-way delay differs from that of the one before it, whichever is longer (RFC 3393); duplicates out.",
            summary Distribution: Distribution = |flow| (&flow.receiver.variation.differences).into();
        jitter_ms "jitter" ["ms", CLOCKS] "The estimate of RFC 3550 section 6.4.1 after each packet: the mean of these differences over about 16.",
            summary Distribution: Distribution = |flow| (&flow.receiver.variation.jitter).into();
        frame_delay_ms "frame delay" ["ms", FRAME_DELAY] "From a frame's capture to its display.",
            column Mean = Cell::Receiver(|sample| ratio(sample.sums.frame_delay as f64 / 1e6, sample.sums.frames as f64)),
            summary Distribution: Distribution = |flow| (&flow.receiver.frame_delay).into(), shown 8;
        frame_delay_parts_ms "parts of the frame delay" ["", NONE] "Means of the parts of the frame delay; they add up to its mean where all are known.",
            summary Group: FrameDelayMeans = |flow| FrameDelayMeans::of(flow, flow.config.facts);
        psnr_db "PSNR" ["dB", DISPLAY] "Peak signal-to-noise ratio of the luma of what is shown, over all frames captured: of source kind codec-model as the model has it, of kind codec as the pictures have it, in the summary alone.",
            column Mean = Cell::Receiver(|sample| sample.sums.judged.mean()),
            summary Mean: Option<f64> = |flow| flow.receiver.judged.mean();
        packets_sent "packets sent" ["packets", NONE] "Packets sent; at a receiver those that arrived and those that it knows to be lost.",
            summary Count: Option<u64> = |flow| flow.packets_sent();
        packets_received "packets received" ["packets", ARRIVALS] "Packets that arrived, duplicates in.",
            summary Count: Option<u64> = |flow| Some(flow.receiver.packets);
        frames "frames" ["", NONE] "The fate of frames in the window.",
            summary Group: FrameCounts = |flow| FrameCounts::of(flow, flow.config.facts);
        transfers "transfers" ["", SENDER] "Files sent whole; absent where what is sent does not end.",
            summary Group: Option<TransferSummary> = |flow| flow.transfers.summary();
        coupling "coupling" ["", SENDER] "The exchange between the flow and its group; absent of a flow that is in none.",
            summary Group: Option<CouplingSummary> = |flow| flow.sender.coupling.summary();
        ecn "ECN on the path" ["", SENDER] "Findings of the checks of `rtp.ecn_check`, over the whole run; absent where nothing is checked.",
            summary Group: Option<EcnSummary> = |flow| flow.sender.ecn();
        video "video" ["", NONE] "Of real pictures (source kind codec): what the receiver saw with the first size of the de-jitter buffer. The Python package judges it after the run; absent elsewhere.",
            summary Group: Option<VideoSummary> = |_| None;
        sampled "sampled" ["", NONE] "The mean of each numeric column over the rows of the window.",
            summary Group: BTreeMap<String, Option<f64>> = |flow| flow.sampled();
    }
}

figures! {
    /// By how much times exceed their smallest, in milliseconds.
    #[derive(Copy, Default)]
    AboveMinimum of Histogram {
        mean "mean" ["ms", NONE] "Mean, exact.", summary Mean: Option<f64> = |times| times.mean_nanos().zip(times.min()).map(|(mean, min)| mean / 1e6 - min.as_millis_f64());
        p50 "p50" ["ms", NONE] "Median, to 1 % of the times themselves.", summary Distribution: Option<f64> = |times| times.above_min(0.5);
        p90 "p90" ["ms", NONE] "90th percentile, to 1 % of the times themselves.", summary Distribution: Option<f64> = |times| times.above_min(0.9);
        p95 "p95" ["ms", NONE] "95th percentile, to 1 % of the times themselves.", summary Distribution: Option<f64> = |times| times.above_min(0.95);
        max "max" ["ms", NONE] "Largest, exact.", summary Distribution: Option<f64> = |times| times.max().zip(times.min()).map(|(max, min)| (max - min).as_millis_f64());
    }
}

figures! {
    /// Mean parts of the delay of frames, in milliseconds.
    #[derive(Copy, Default)]
    FrameDelayMeans of FlowRecorder {
        send_queue "in the sender" ["ms", FRAME_DELAY] "Encoder, send queue and pacer.", summary Mean: Option<f64> = |flow| flow.receiver.frame_parts[0].millis();
        link_queue "in link queues" ["ms", FRAME_DELAY] "Waiting in the queues of links.", summary Mean: Option<f64> = |flow| flow.receiver.frame_parts[1].millis();
        path "on the way" ["ms", FRAME_DELAY] "Serialisation, propagation and noise.", summary Mean: Option<f64> = |flow| flow.receiver.frame_parts[2].millis();
        dejitter "in the de-jitter buffer" ["ms", DISPLAY] "De-jitter buffer.", summary Mean: Option<f64> = |flow| flow.receiver.frame_parts[3].millis();
    }
}

figures! {
    /// The fate of frames in the window.
    #[derive(Copy, Default)]
    FrameCounts of FlowRecorder {
        captured "captured" ["frames", SENDER] "Captured by the source.", summary Count: Option<u64> = |flow| Some(flow.sender.captured);
        displayed "displayed" ["frames", DISPLAY] "Displayed, late ones in.", summary Count: Option<u64> = |flow| Some(flow.receiver.displayed);
        late "late" ["frames", DISPLAY] "Displayed after their playout time.", summary Count: Option<u64> = |flow| Some(flow.receiver.late);
        incomplete "incomplete" ["frames", DISPLAY] "Given up although some of their packets arrived.", summary Count: Option<u64> = |flow| Some(flow.receiver.incomplete);
        discarded "discarded" ["frames", SENDER] "Discarded from the send queue before any of their packets left; over SCTP also in part.", summary Count: Option<u64> = |flow| Some(flow.sender.discarded);
        freezes "freezes" ["gaps", DISPLAY] "Gaps in the display (webrtc-stats, `freezeCount`).", summary Count: Option<u64> = |flow| Some(flow.receiver.freezes);
    }
}

figures! {
    /// Files that a flow sent whole over TCP.
    #[derive(Copy)]
    TransferSummary of TransferRecord {
        begun "transfers begun" ["files", NONE] "Files whose connection began in the window.", summary Count: u64 = |transfers| transfers.begun(), shown 11;
        completed "transfers completed" ["files", NONE] "Files that were complete in the window, wherever they began.",
            summary Count: u64 = |transfers| transfers.completion_time.count(), shown 12;
        bytes "payload completed" ["B", NONE] "Payload of the files that were complete.", summary Count: u64 = |transfers| transfers.bytes;
        completion_time_ms "transfer time" ["ms", NONE] "Of the files that were complete: from the connection's first segment (its SYN where there is a handshake) to the acknowledgement of the last byte at the sender.",
            summary Distribution: Distribution = |transfers| (&transfers.completion_time).into(), shown 13;
    }
}

fields! {
    /// The pictures as their receiver saw them, of the frames captured in the window whose decoding the run covers.
    VideoSummary {
        dejitter_ms "size of the de-jitter buffer" ["ms", NONE] "Time from a frame's capture to its decoding; packets that arrive later count as lost.", summary Key: Option<f64>;
        psnr_db "PSNR" ["dB", NONE] "Peak signal-to-noise ratio of the luma of what is shown against the source's picture, of equal pictures 100 dB; mean over frames.", summary Mean: Option<f64>;
        psnr_p10_db "PSNR, worst tenth" ["dB", NONE] "10th percentile over frames of the same.", summary Distribution: Option<f64>;
        ssim "SSIM" ["", NONE] "Structural similarity of the luma (FFmpeg's windows of 8x8); mean over frames.", summary Mean: Option<f64>;
        vmaf "VMAF" ["", NONE] "VMAF, where the scenario asks for it; mean over frames.", summary Mean: Option<f64>;
        frames "pictures" ["frames", NONE] "Frames captured in the window that were judged.", summary Count: Option<u64>;
        shown "shown" ["frames", NONE] "Of these, frames of which a new picture was shown, concealed ones in.", summary Count: Option<u64>;
        damaged "damaged" ["frames", NONE] "Of the frames shown, those that lacked slices of their own.", summary Count: Option<u64>;
        freezes "freezes" ["gaps", NONE] "Gaps between new pictures of at least three intervals and an interval and 150 ms (webrtc-stats, `freezeCount`, of the nominal interval).", summary Count: Option<u64>;
        freeze_time_s "time frozen" ["s", NONE] "Length of these gaps together.", summary Level: Option<f64>;
        lost_ratio "slices lost" ["ratio", NONE] "Of the slices, those that never arrived, discarded at the sender in.", summary Share: Option<f64>;
        late_ratio "slices late" ["ratio", NONE] "Of the slices, those that arrived after their frame's decoding.", summary Share: Option<f64>;
        end_to_end_ms "end-to-end delay" ["ms", NONE] "From capture to decoding (urcp-2013 equation 5). Encoder and decoder take no time: what they took here says nothing of a device, and differs from run to run. Means, like its parts, which add up to it; of a frame's slice that arrived last in time, and of frames that have one.", summary Mean: Option<f64>;
        sender_ms "in the sender" ["ms", NONE] "Part: send queue and pacer.", summary Mean: Option<f64>;
        link_queue_ms "in link queues" ["ms", NONE] "Part: waiting in the queues of links.", summary Mean: Option<f64>;
        noise_ms "delay noise" ["ms", NONE] "Part: delay noise of links.", summary Mean: Option<f64>;
        path_ms "on the way" ["ms", NONE] "Part: serialisation and propagation; all of the way where the transport carries a stream of bytes.", summary Mean: Option<f64>;
        dejitter_wait_ms "in the de-jitter buffer" ["ms", NONE] "Part: from arrival to decoding.", summary Mean: Option<f64>;
        by_dejitter "by size of the de-jitter buffer" ["dB", NONE] "Mean PSNR with each size, by its milliseconds.", summary Group: BTreeMap<String, Option<f64>>;
    }
}

figures! {
    /// The exchange between a flow and the group that it shares in.
    #[derive(Copy)]
    CouplingSummary of CouplingRecord {
        assignments "assignments" ["", NONE] "Assignments of its group that the flow carried out.",
            summary Count: u64 = |coupling| coupling.counted(|coupled| coupled.assignments), shown 14;
        ignored_updates "ignored updates" ["", NONE] "Updates that the flow's group ignored, whichever of its flows they came from.",
            summary Count: u64 = |coupling| coupling.counted(|coupled| coupled.ignored);
        parted "parted" ["", NONE] "Times that the flow was taken out of a detected group in which it lost more or waited longer than by itself.",
            summary Count: u64 = |coupling| coupling.counted(|coupled| coupled.parted);
    }
}

figures! {
    /// The decisions about two flows whose host looks for shared bottlenecks (RFC 8382).
    #[derive(Copy)]
    PairSummary of PairRecord {
        decisions "decisions" ["", NONE] "Decisions in the window while both flows are there, one each interval T.", summary Count: u64 = |pair| pair.decisions;
        together "together" ["ratio", NONE] "Of these, those after which the two flows share.", summary Share: Option<f64> = PairRecord::together;
        changes "changes" ["", NONE] "Of the decisions, those that coupled the two or parted them; before the first they are apart.", summary Count: u64 = |pair| pair.changes;
        right "right" ["ratio", NONE] "Of the decisions, those that agree with the `truth` which the scenario says; absent, like the following, where it says none.",
            summary Share: Option<f64> = PairRecord::right;
        first_right_s "first right decision" ["s", NONE] "From the beginning of the run to the first decision that agrees with the truth, before that changes; absent if none did.",
            summary Level: Option<f64> = PairRecord::first_right;
        next_right_s "next right decision" ["s", NONE] "From when the truth on the two changed last to the first decision that agrees with it; absent if none did, or if it did not change.",
            summary Level: Option<f64> = PairRecord::next_right;
    }
}

figures! {
    /// The figures of a link.
    #[derive(Copy)]
    LinkSummary of LinkRecorder {
        time_s "time" ["s", NONE] "When the interval of the row ends.", column Key = Cell::Key;
        link "link" ["", NONE] "The link's name.", column Key = Cell::Key;
        capacity_mbps "capacity" ["Mbit/s", NONE] "Rate that the link could serve, failures taken off.",
            column TimeAverage = Cell::Link(|sample| ratio(sample.capacity_bits / 1e6, sample.seconds));
        throughput_mbps "throughput" ["Mbit/s", NONE] "Sizes of the packets whose last bit left the link.",
            column Rate = Cell::Link(|sample| ratio(sample.delivered_bits() / 1e6, sample.seconds));
        utilisation "used" ["ratio", NONE] "Bytes served over the integral of capacity, of a packet in service the part that has left; never above 1.",
            summary Share: Option<f64> = LinkRecorder::utilisation, shown 1;
        queue_packets "waiting packets" ["packets", NONE] "Packets that wait in the queue, and for a shaper's tokens, without the one in service.",
            column Level = Cell::Link(|sample| Some(sample.now.queue_packets as f64)),
            summary Group: QueuePackets = |link| QueuePackets::of(link, Facts::ALL);
        queue_bytes "waiting bytes" ["B", NONE] "Bytes that wait in the queue, and for a shaper's tokens, without those in service.",
            column Level = Cell::Link(|sample| Some(sample.now.queue_bytes.as_f64()));
        queue_delay_ms "queue delay" ["ms", NONE] "Wait before their service, that for a shaper's tokens in, of packets that left.",
            summary Distribution: Distribution = |link| (&link.queue_delay).into(), shown 2;
        offered "offered" ["packets", NONE] "Packets that came to the link, before its loss model: delivered, dropped, lost and waiting together.",
            summary Count: u64 = |link| link.counted(|count| count.offered), shown 3;
        delivered "delivered" ["packets", NONE] "Packets whose last bit left the link.",
            summary Count: u64 = |link| link.counted(|count| count.departed);
        dropped "dropped" ["packets", NONE] "Packets that the queue dropped: it was full, or its algorithm chose to; and those that a policer or a shaper dropped.",
            column Count = Cell::Link(|sample| sample.counted(|count| count.dropped)),
            summary Count: u64 = |link| link.counted(|count| count.dropped), shown 4;
        lost "lost" ["packets", NONE] "Packets that the loss model took.", summary Count: u64 = |link| link.counted(|count| count.lost), shown 5;
        waiting "waiting" ["packets", NONE] "Packets in the queue and in service when the window ends, less those when it began.",
            summary Count: i64 = LinkRecorder::waiting;
        marked "marked" ["packets", NONE] "Packets that this link marked CE.",
            column Count = Cell::Link(|sample| sample.counted(|count| count.marked)),
            summary Count: u64 = |link| link.counted(|count| count.marked), shown 6;
        policed "policed" ["packets", NONE] "Packets that the policer dropped or marked; those dropped count in `dropped`, too.",
            summary Count: u64 = |link| link.counted(|count| count.policed);
        shaped "shaped" ["packets", NONE] "Packets that the shaper held back until it had tokens for them.",
            summary Count: u64 = |link| link.counted(|count| count.shaped);
        corrupted "corrupted" ["packets", NONE] "Packets that left this link and arrive damaged, so that nobody gets them.",
            summary Count: u64 = |link| link.counted(|count| count.corrupted);
        duplicated "duplicated" ["packets", NONE] "Packets that left this link and of which a copy arrives as well.",
            summary Count: u64 = |link| link.counted(|count| count.duplicated);
        overtaking "overtaking" ["packets", NONE] "Packets that left this link over a shorter route and arrive before some that left before them.",
            summary Count: u64 = |link| link.counted(|count| count.overtaking);
    }
}

figures! {
    /// How many packets waited.
    #[derive(Copy, Default)]
    QueuePackets of LinkRecorder {
        mean "mean" ["packets", NONE] "Mean over time.", summary TimeAverage: Option<f64> = LinkRecorder::mean_queue;
        max "max" ["packets", NONE] "The most at once.", summary Level: u64 = LinkRecorder::longest_queue;
    }
}

fields! {
    /// How evenly the flows share.
    #[derive(Copy, Default)]
    Fairness {
        jain "Jain's index" ["ratio", NONE] "Jain's index of the flows' throughput; absent if nothing was delivered.", summary Share: Option<f64>;
    }
}

fields! {
    /// A distribution in milliseconds; every figure is absent if nothing was recorded.
    #[derive(Copy, Default)]
    Distribution {
        mean "mean" ["ms", NONE] "Mean, exact.", summary Mean: Option<f64>;
        p50 "p50" ["ms", NONE] "Median, to 1 %.", summary Distribution: Option<f64>;
        p95 "p95" ["ms", NONE] "95th percentile, to 1 %.", summary Distribution: Option<f64>;
        p99 "p99" ["ms", NONE] "99th percentile, to 1 %.", summary Distribution: Option<f64>;
        max "max" ["ms", NONE] "Largest, exact.", summary Distribution: Option<f64>;
    }
}

fields! {
    /// The state of ECN on a flow's path (RFC 6679 section 7).
    #[derive(Copy, Default)]
    EcnSummary {
        state "state" ["", NONE] "The state at the end: `probing`; `capable`; `classic`, which is capable with a Classic AQM behind ECT(1) (RFC 9331 section 4.3); `suspected`; or why packets leave without ECN: they were `cleared`, `dropped` or `all-marked`.", summary Key: &'static str;
        capable "could be marked" ["packets", NONE] "Packets that left with ECN.", summary Count: u64;
        failures "failures" ["", NONE] "Times that ECN was given up, for a while or for good.", summary Count: u64;
        classic "Classic AQMs" ["", NONE] "Times that a Classic AQM was found behind ECT(1).", summary Count: u64;
    }
}

fields! {
    /// Counts of the sockets of one end, over the whole run. Whatever is refused changes nothing else.
    #[derive(Copy, Default)]
    NetCounters {
        received "received" ["datagrams", NONE] "Datagrams received, of any kind.", summary Count: u64;
        sent "sent" ["datagrams", NONE] "Datagrams sent.", summary Count: u64;
        unsendable "not sendable" ["datagrams", NONE] "Datagrams that the system refused to send (full buffers, no route).", summary Count: u64;
        malformed "malformed" ["packets", NONE] "Refused: not RTP or RTCP, or not DCCP, cut short, otherwise not what their headers say, or media of another payload type.", summary Count: u64;
        unknown_peers "from unknown peers" ["datagrams", NONE] "Refused: from another address than the peer's, or of another connection.", summary Count: u64;
        second_senders "steady second senders" ["", NONE] "Senders that were refused for a second or longer without falling silent, since another was there.", summary Count: u64;
        sender_moves "moves of the sender" ["", NONE] "Times that a sender went on from another address, as behind a NAT or in another network: its figures go on.", summary Count: u64;
        unknown_ssrc "of an unknown SSRC" ["packets", NONE] "Refused: RTP or report blocks of an SSRC that is not of this session.", summary Count: u64;
        ssrc_collisions "SSRC collisions" ["packets", NONE] "Packets from another address than the sender's with an SSRC of this session, at either end: ignored, since who had it first keeps it (RFC 3550 section 8.2).", summary Count: u64;
        out_of_sequence "out of sequence" ["packets", NONE] "Refused: RTP packets whose sequence number is too far from the others (RFC 3550 appendix A.1), DCCP packets that are not valid in the connection (RFC 4340 section 7.5).", summary Count: u64;
        resynchronised "resynchronised" ["", NONE] "Times that the sequence numbers of a stream began anew, since two packets in a row were too far from the others (RFC 3550 appendix A.1).", summary Count: u64;
        out_of_time "out of time" ["packets", NONE] "Refused: RTP packets with a timestamp at which their frame cannot have been captured.", summary Count: u64;
        other_rtcp "other RTCP" ["packets", NONE] "Well-formed RTCP that is no congestion control feedback: left alone.", summary Count: u64;
        keep_alives "keep-alives" ["datagrams", NONE] "Datagrams of one byte, with which some peers keep the way through a NAT open: left alone, by ends that expect them (`--peer`) and at a relay.", summary Count: u64;
        resent "sent again" ["packets", NONE] "Packets that a sender sent again, as a NACK asked for (RFC 4585, RFC 4588).", summary Count: u64;
        restored "restored" ["packets", NONE] "Packets that retransmissions restored at a receiver (RFC 4588).", summary Count: u64;
        unknown_reports "about packets never sent" ["packets", NONE] "Reports on packets that were never sent, or sent too long ago. They change nothing.", summary Count: u64;
        impossible_times "of impossible times" ["", NONE] "Reports with impossible times, corrected by the time at which they came, and single impossible arrival times, which count as unknown. Impossible: a packet that arrives before it was sent, a report that comes before it was written.", summary Count: u64;
        unanswered "of nobody and without an answer" ["packets", NONE] "Packets of unknown peers that a DCCP receiver did not answer with a Reset or a cookie, since those are limited in rate.", summary Count: u64;
        duplicates "duplicates" ["packets", NONE] "Packets that had arrived before.", summary Count: u64;
        overflowed "beyond the relay's memory" ["datagrams", NONE] "Dropped by a relay for want of memory; no property of its link.", summary Count: u64;
        failed_programs "programs that failed" ["", NONE] "Programs beside a relay that ended with another status than 0.", summary Count: u64;
        failed_captures "captures that failed" ["", NONE] "Captures of which a part could not be written.", summary Count: u64;
        unanswered_flows "unanswered flows" ["", NONE] "Flows without a single answer, of several that one process sends. A run fails if no flow has one.", summary Count: u64;
        late_p50_ms "lateness, median" ["ms", NONE] "Time by which packets left later than they were due; median, to 1 %. At a relay a packet is due when its links release it; at a sender when its pacer does, or when the report comes that makes room for it. Of several flows that one process sends, the longest median.", summary Level: Option<f64>, shown 15;
        late_p95_ms "lateness, 95 %" ["ms", NONE] "The same, 95th percentile.", summary Level: Option<f64>, shown 16;
        late_p99_ms "lateness, 99 %" ["ms", NONE] "The same, 99th percentile.", summary Level: Option<f64>, shown 17;
        late_max_ms "lateness, largest" ["ms", NONE] "The same, largest, exact.", summary Level: Option<f64>, shown 18;
        late_share "lateness by delay" ["", NONE] "95th percentile of lateness by the mean time that a relay's links held a packet: above 0.1 figures of delay are not to be trusted.", summary Level: Option<f64>;
        circuit_breakers "calls ended by a circuit breaker" ["", NONE] "Flows that an RTP circuit breaker ended (RFC 8083).", summary Count: u64;
        rtcp_reports "regular reports" ["", NONE] "Sender or receiver reports that were read and can be, with `rtp.rtcp` (RFC 3550 section 6.4).", summary Count: u64;
        rtcp_round_trip_ms "round trip by reports" ["ms", NONE] "Last round trip that a receiver report told (RFC 3550 section 6.4.1); of several streams the longest. At the sender.", summary Level: Option<f64>;
        rtcp_jitter_ms "jitter by reports" ["ms", NONE] "Last interarrival jitter (RFC 3550 appendix A.8); of several streams the longest.", summary Level: Option<f64>;
        rtcp_lost "lost by reports" ["packets", NONE] "Packets expected less packets received, by the last reports (RFC 3550 appendix A.3); negative if more came than were expected.", summary Count: Option<i64>;
    }
}

/// Every struct of the summary: where its fields stand there, and its figures.
pub const TABLES: [(&str, &[Figure]); 15] = [
    ("", Summary::FIGURES),
    ("flows.NAME", FlowSummary::FIGURES),
    ("flows.NAME.delay_above_minimum_ms", AboveMinimum::FIGURES),
    ("flows.NAME.frame_delay_parts_ms", FrameDelayMeans::FIGURES),
    ("flows.NAME.frames", FrameCounts::FIGURES),
    ("flows.NAME.transfers", TransferSummary::FIGURES),
    ("flows.NAME.video", VideoSummary::FIGURES),
    ("flows.NAME.coupling", CouplingSummary::FIGURES),
    ("flows.NAME.ecn", EcnSummary::FIGURES),
    ("links.NAME", LinkSummary::FIGURES),
    ("links.NAME.queue_packets", QueuePackets::FIGURES),
    ("fairness", Fairness::FIGURES),
    ("pairs.ONE+OTHER", PairSummary::FIGURES),
    ("sockets", NetCounters::FIGURES),
    ("(any distribution)", Distribution::FIGURES),
];
