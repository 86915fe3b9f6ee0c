//! A call through the C ABI allocates nothing per packet once both ends are warm: media, reports on packets, regular reports and
//! retransmissions in.
#![allow(unsafe_code, reason = "it calls as C does")]

use paceline::*;
use std::ffi::CString;
use std::ptr::null;

const MS: u64 = 1_000_000;
const UNDER_WAY: usize = 256;

/// Datagrams under way, each with when it arrives.
struct Way {
    datagrams: Vec<(u64, usize, [u8; 1500])>,
    put: usize,
    taken: usize,
}

impl Way {
    fn new() -> Way {
        Way { datagrams: vec![(0, 0, [0; 1500]); UNDER_WAY], put: 0, taken: 0 }
    }

    fn next(&mut self, now: u64) -> Option<&[u8]> {
        let (due, length, bytes) = &self.datagrams[self.taken % UNDER_WAY];
        if self.taken == self.put || *due > now {
            return None;
        }
        self.taken += 1;
        Some(&bytes[..*length])
    }
}

fn check(status: PacelineStatus) {
    assert_eq!(status, PacelineStatus::Ok);
}

/// Allocations in the last third of a call of so many seconds, one packet in 200 lost. The clock shows `zero` when it begins.
fn allocations(controller: &str, format: &str, seconds: u64, zero: u64) -> u64 {
    let most = if ["scream", "gcc"].contains(&controller) { "target_bitrate_max" } else { "rate_max" };
    let own = CString::new(format!("format = {format}; reduced_size = true; repair = true; {most} = 3Mbps"));
    let controller = CString::new(controller).expect("no zero");
    let other = CString::new(format!("format = {format}; reduced_size = true"));
    let (own, other) = (own.expect("no zero"), other.expect("no zero"));
    let (mut sender, mut receiver, mut stream, mut counted, mut left) = (0, 0, 0, 0, 0_u64);
    // SAFETY: texts that end with a zero, structs of the true size, and buffers of the length that is said.
    unsafe {
        check(paceline_sender_create(controller.as_ptr(), null(), own.as_ptr(), &raw mut sender));
        check(paceline_receiver_create(other.as_ptr(), &raw mut receiver));
        let pair = c"ssrc = 1; rtx_ssrc = 2";
        check(paceline_receiver_add_stream(receiver, pair.as_ptr()));
        check(paceline_sender_add_stream(sender, 0, pair.as_ptr(), &raw mut stream));
        check(paceline_sender_start(sender, zero));
        let (mut there, mut back, payload) = (Way::new(), Way::new(), [7_u8; 1000]);
        let mut leaves = PacelineDatagram::default();
        let (mut packet, mut event) = (PacelinePacket::default(), PacelineEvent::default());
        for ms in 0..seconds * 1000 {
            let now = zero + ms * MS;
            if ms == seconds * 1000 * 2 / 3 {
                counted = crate::counting::allocations();
            }
            if ms % 20 == 0 {
                let mut bps = 0;
                check(paceline_sender_target(sender, stream, &raw mut bps));
                let parts = bps / 50 / 8 / 1000 + 1;
                for part in 1..=parts {
                    let end = u8::from(part == parts);
                    let timestamp = ms as u32 * 90;
                    let media = PacelineMedia {
                        frame: ms,
                        timestamp,
                        stream,
                        frame_end: end,
                        whole: 0,
                        payload_type: 96,
                        marker: end,
                    };
                    check(paceline_sender_push(
                        sender,
                        now,
                        &raw const media,
                        size_of_val(&media),
                        payload.as_ptr(),
                        1000,
                    ));
                }
            }
            while let Some(bytes) = back.next(now) {
                check(paceline_sender_receive(sender, now, bytes.as_ptr(), bytes.len(), 0));
            }
            loop {
                let (due, length, bytes) = &mut there.datagrams[there.put % UNDER_WAY];
                let size = size_of_val(&leaves);
                check(paceline_sender_poll(sender, now, bytes.as_mut_ptr(), 1500, &raw mut leaves, size));
                if leaves.length == 0 {
                    break;
                }
                (*due, *length, left) = (now + 20 * MS, leaves.length as usize, left + 1);
                there.put += usize::from(left % 200 != 0);
            }
            while let Some(bytes) = there.next(now) {
                let size = size_of_val(&packet);
                check(paceline_receiver_receive(
                    receiver,
                    now,
                    bytes.as_ptr(),
                    bytes.len(),
                    0,
                    &raw mut packet,
                    size,
                ));
            }
            loop {
                let (due, length, bytes) = &mut back.datagrams[back.put % UNDER_WAY];
                let size = size_of_val(&leaves);
                check(paceline_receiver_poll(receiver, now, bytes.as_mut_ptr(), 1500, &raw mut leaves, size));
                if leaves.length == 0 {
                    break;
                }
                (*due, *length) = (now + 20 * MS, leaves.length as usize);
                back.put += 1;
            }
            check(paceline_sender_poll_event(sender, &raw mut event, size_of_val(&event)));
        }
        let counted = crate::counting::allocations() - counted;
        let mut figures = PacelineSenderStatistics::default();
        check(paceline_sender_statistics(sender, &raw mut figures, size_of_val(&figures)));
        assert!(figures.sent > 100 * seconds && figures.resent > 20, "{figures:?}");
        counted
    }
}

#[test]
fn nothing_is_allocated_per_packet_once_warm() {
    // A clock may show the nanoseconds since 1970 as well.
    for (format, zero) in [("rfc8888", 0), ("twcc", 1_795_000_000_123_456_789)] {
        // Some divide their target by themselves, of others streams share it.
        for controller in ["scream", "gcc", "urcp"] {
            assert_eq!(allocations(controller, format, 150, zero), 0, "{controller}, {format}");
        }
    }
}
