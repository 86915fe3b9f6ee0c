//! Rate that each of several streams would get if their targets were shared by priority. A rule of ours: in RFC 8298 section 4.1.2.8
//! priorities order the packets that wait, and where rates are such that none waits they order nothing.

use super::{MediaRate, Stream};

/// A source that makes less than this part of its target takes part in no sharing: it asks for nothing.
const LEAST_USE: f64 = 0.5;
/// Streams that together send more than their targets by this part of all that is sent do not follow them.
const MOST_EXCESS: f64 = 0.1;

/// A stream's part of all that the streams of a flow send.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Bit/s.
    pub rate: f64,
    /// Whether the others send more than their targets: congestion is their doing then.
    pub others_exceed: bool,
}

/// The part of the stream `id` if the sum of the targets were shared by priority, or all that arrives where others exceed theirs. The
/// rest above a stream's highest target goes to the others. Absent where it shares with nobody.
pub fn share(streams: &[Stream], id: usize) -> Option<Share> {
    let busy = || streams.iter().filter(|stream| stream.is_busy()).map(|stream| &stream.media);
    let own = &streams.get(id).filter(|stream| stream.is_busy())?.media;
    if busy().count() < 2 {
        return None;
    }
    let others = streams.iter().enumerate().filter(|(other, _)| *other != id);
    let excess: f64 = others.map(|(_, stream)| stream.excess()).sum();
    let sent: f64 = streams.iter().map(|stream| stream.rates.current()).sum();
    let others_exceed = excess > MOST_EXCESS * sent;
    let arrives = || streams.iter().filter(|stream| stream.is_busy()).map(|stream| stream.rates.acked());
    let total: f64 = if others_exceed { arrives().sum() } else { busy().map(|media| media.target).sum() };
    // Rate of a unit of priority, which rises with each stream that reaches its highest target.
    let mut level = 0.0;
    loop {
        let is_full = |media: &&MediaRate| media.highest() <= level * media.priority;
        let full: f64 = busy().filter(is_full).map(MediaRate::highest).sum();
        let weight: f64 = busy().filter(|media| !is_full(media)).map(|media| media.priority).sum();
        let next = (total - full) / weight;
        if next.is_nan() || next <= level {
            let rate = (level * own.priority).min(own.highest());
            return Some(Share { rate, others_exceed });
        }
        level = next;
    }
}

impl Stream {
    /// Whether the stream uses what it has.
    fn is_busy(&self) -> bool {
        let used = self.rates.media().max(self.rates.current());
        self.media.priority > 0.0 && used >= LEAST_USE * self.media.target
    }

    /// By how much it sends more than its target, or than that was lately, in bit/s.
    fn excess(&self) -> f64 {
        (self.rates.current() - self.media.target.max(self.media.lately)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scream::Params;
    use alloc::vec::Vec;
    use paceline_units::{Bitrate, Bytes, Time, TimeDelta};

    /// Streams by priority, target, highest target and media rate, all in kbit/s.
    fn streams(of: &[(f64, u64, u64, u64)]) -> Vec<Stream> {
        let params = Params::rfc8298();
        let mut streams = Vec::new();
        for &(priority, target, highest, media) in of {
            let mut stream = Stream::new(&params, Time::ZERO, priority);
            stream.media.set_limits(Bitrate::ZERO, Bitrate::from_kbps(highest));
            stream.media.assign(target as f64 * 1e3);
            stream.rates.on_offered(Bytes::new(media * 25));
            assert!(stream.rates.update(&params, Time::ZERO + TimeDelta::from_millis(200)));
            streams.push(stream);
        }
        streams
    }

    fn shares(of: &[(f64, u64, u64, u64)]) -> Vec<Option<i64>> {
        let streams = streams(of);
        (0..of.len())
            .map(|id| share(&streams, id).map(|share| libm::round(share.rate / 1e3) as i64))
            .collect()
    }

    #[test]
    fn the_sum_is_shared_by_priority() {
        assert_eq!(shares(&[(2.0, 500, 9000, 500), (1.0, 2500, 9000, 2500)]), [Some(2000), Some(1000)]);
        assert_eq!(shares(&[(2.0, 500, 9000, 500)]), [None], "it shares with nobody");
    }

    #[test]
    fn what_a_highest_target_leaves_goes_to_the_others() {
        let of = [(1.0, 64, 64, 64), (2.0, 1000, 9000, 1000), (1.0, 2000, 9000, 2000)];
        assert_eq!(shares(&of), [Some(64), Some(2000), Some(1000)]);
        let full = [(1.0, 64, 64, 64), (1.0, 128, 128, 128)];
        assert_eq!(shares(&full), [Some(64), Some(128)], "no more than all have");
    }

    #[test]
    fn where_others_send_beyond_their_targets_all_that_arrives_is_shared() {
        let mut streams = streams(&[(1.0, 300, 9000, 300), (1.0, 500, 9000, 500)]);
        let mut sends = |sent: u64, arrives: [u64; 2]| {
            let end = streams[0].rates.due(&Params::rfc8298());
            streams[1].rates.on_sent(Bytes::new(sent * 25));
            for (stream, kbps) in streams.iter_mut().zip(arrives) {
                stream.rates.on_delivered(Bytes::new(kbps * 25));
                assert!(stream.rates.update(&Params::rfc8298(), end));
            }
            [0, 1].map(|id| {
                let share = share(&streams, id).expect("both are busy");
                (share.rate, share.others_exceed)
            })
        };
        assert_eq!(sends(550, [300, 550]), [(400e3, false); 2], "no encoder is exact");
        assert_eq!(sends(3000, [300, 1700]), [(1e6, true), (400e3, false)]);
    }

    #[test]
    fn who_makes_little_of_its_target_or_has_left_takes_no_part() {
        let of = [(1.0, 3000, 9000, 100), (1.0, 2000, 9000, 2000), (1.0, 1000, 9000, 1000), (0.0, 0, 0, 0)];
        assert_eq!(shares(&of), [None, Some(1500), Some(1500), None]);
    }
}
