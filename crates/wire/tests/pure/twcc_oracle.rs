//! TWCC reports against rtc-rtcp, an implementation that is not ours: what it reads of ours is what we wrote.

use paceline_wire::twcc::{self, TransportFeedback};
use proptest::prelude::*;
use rtc_rtcp::transport_feedbacks::transport_layer_cc::{PacketStatusChunk, SymbolTypeTcc, TransportLayerCc};
use rtc_shared::marshal::Unmarshal;

/// Which packets arrived, as the chunks say: those beyond the last packet are filling.
fn received(report: &TransportLayerCc) -> Vec<bool> {
    let chunks = report.packet_chunks.iter().flat_map(|chunk| match chunk {
        PacketStatusChunk::RunLengthChunk(run) => vec![run.packet_status_symbol; run.run_length.into()],
        PacketStatusChunk::StatusVectorChunk(vector) => vector.symbol_list.clone(),
    });
    let arrived = chunks.map(|symbol| symbol != SymbolTypeTcc::PacketNotReceived);
    arrived.take(report.packet_status_count.into()).collect()
}

proptest! {
    #[test]
    fn what_we_write_is_read_the_same_elsewhere(
        deltas in prop::collection::vec(
            prop_oneof![2 => Just(None), 6 => (0i16..256).prop_map(Some), 2 => any::<i16>().prop_map(Some)], 1..120),
        sender_ssrc: u32, ssrc: u32, base: u16, reference in 0u32..1 << 24, feedback_count: u8,
    ) {
        let ours = TransportFeedback { sender_ssrc, ssrc, base, reference, feedback_count, deltas };
        let mut bytes = Vec::new();
        twcc::encode(&ours, &mut bytes).expect("it fits");
        let theirs = TransportLayerCc::unmarshal(&mut &bytes[..]).expect("sound");
        prop_assert_eq!((theirs.sender_ssrc, theirs.media_ssrc), (sender_ssrc, ssrc));
        prop_assert_eq!((theirs.base_sequence_number, theirs.reference_time), (base, reference));
        prop_assert_eq!(theirs.fb_pkt_count, feedback_count);
        prop_assert_eq!(received(&theirs), ours.deltas.iter().map(Option::is_some).collect::<Vec<_>>());
        let micros: Vec<i64> = theirs.recv_deltas.iter().map(|delta| delta.delta).collect();
        let expected: Vec<i64> = ours.deltas.iter().flatten().map(|delta| i64::from(*delta) * 250).collect();
        prop_assert_eq!(micros, expected);
    }
}
