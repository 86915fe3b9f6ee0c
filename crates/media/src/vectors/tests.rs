use super::*;
use alloc::format;
use alloc::vec;
use paceline_units::param::ParamSet as _;
use paceline_units::{Bitrate, Bytes, TimeDelta};
use proptest::prelude::*;

/// The two vectors of The ns Manual, chapter Tmix, in both formats.
const ORIGINAL: &str = "\
SEQ 6851 1 21217 555382       # starts at 6.851 ms and contains 1 exchange
w 64800 6432                  # win sz (bytes): init acc
r 1176194                     # min RTT (microseconds)
l 0.000000 0.000000           # loss: init->acc acc->init
> 245
t 51257
< 510
t 6304943

CONC 1429381 2 2 26876 793318
w 65535 5840
r 36556
l 0.125000 0.000000
c> 222
t> 62436302
c< 726
t< 62400173
c> 16
t> 725
c< 84
t< 130
";
const ALTERNATE: &str = "\
# Number of Cvecs: 2
S 6851 1 21217 555382
m 1460 536
w 64800 6432
r 1176194
l 0.000000 0.000000
I 0 0 245
A 0 51257 510
A 6304943 0 0
C 1429381 2 2 26876 793318
w 65535 5840
r 36556
l 0.125000 0.000000
I 0 0 222
A 0 0 726
I 62436302 0 16
A 62400173 0 84
I 725 0 0
A 130 0 0
";

const WEB_SEED: u64 = 3;

fn parse(text: &str) -> ConnectionVectors {
    ConnectionVectors::parse(text.as_bytes()).expect(text)
}

fn after_sent(micros: i64) -> Wait {
    Wait::AfterSent(TimeDelta::from_micros(micros))
}

fn after_received(micros: i64) -> Wait {
    Wait::AfterReceived(TimeDelta::from_micros(micros))
}

fn unit(side: Side, wait: Wait, size: u64) -> DataUnit {
    DataUnit { side, wait, size: Bytes::new(size) }
}

#[test]
fn both_formats_say_the_same() {
    use Side::{Acceptor, Initiator};
    let [original, alternate] = [ORIGINAL, ALTERNATE].map(parse);
    assert_eq!((original.len(), alternate.len()), (2, 2));
    let sequential = &alternate[0];
    assert_eq!(
        (sequential.start, sequential.rtt),
        (TimeDelta::from_micros(6851), TimeDelta::from_micros(1_176_194))
    );
    assert_eq!(
        (sequential.windows, sequential.mss),
        ([64800, 6432].map(Bytes::new), Some([1460, 536].map(Bytes::new)))
    );
    assert_eq!((sequential.id, sequential.concurrent), (555_382, false));
    let closing = unit(Acceptor, after_sent(6_304_943), 0);
    assert_eq!(
        sequential.units,
        [unit(Initiator, after_sent(0), 245), unit(Acceptor, after_received(51_257), 510), closing]
    );
    assert_eq!(ConnectionVector { mss: None, ..sequential.clone() }, original[0]);
    assert_eq!((alternate[1].concurrent, alternate[1].loss), (true, [0.125, 0.0]));
    // The original format has what each side does in order, and nothing between the sides.
    for side in [Initiator, Acceptor] {
        let of_side = |vector: &ConnectionVector| -> Vec<DataUnit> {
            vector.units.iter().filter(|unit| unit.side == side).copied().collect()
        };
        assert_eq!(of_side(&original[1]), of_side(&alternate[1]));
        assert_eq!(original[1].payload(side), Bytes::new(if side == Initiator { 238 } else { 810 }));
    }
}

#[test]
fn the_acceptor_may_begin_and_a_side_may_go_on() {
    use Side::{Acceptor, Initiator};
    let head = "w 8760 24820\nr 42369\n";
    let original =
        parse(&format!("SEQ 3992 3 1332 63451\n{head}< 49\nt 43483\n> 15\nt 0\n> 7\nt 809\n< 164\n"));
    let expected = [
        unit(Acceptor, after_sent(0), 49),
        unit(Initiator, after_received(43_483), 15),
        unit(Initiator, after_sent(0), 7),
        unit(Acceptor, after_received(809), 164),
    ];
    assert_eq!(original[0].units, expected);
    let alternate =
        parse(&format!("S 3992 3 1332 63451\n{head}A 0 0 49\nI 0 43483 15\nI 0 0 7\nA 0 809 164\n"));
    assert_eq!(alternate[0].units, expected);
}

#[test]
fn vectors_are_in_order_of_their_beginning() {
    let at = |start: u64| format!("S {start} 1 0 {start}\nw 1 1\nr 1\nI 0 0 1\n");
    let vectors = parse(&format!("{}{}{}", at(30), at(10), at(20)));
    assert_eq!(vectors.iter().map(|vector| vector.id).collect::<Vec<_>>(), [10, 20, 30]);
    assert!(vectors.warnings().is_empty());
    let short = parse(&format!("# Number of Cvecs: 26983\n{}", at(1)));
    assert_eq!(short.warnings(), ["says that it has 26983 connections, and has 1"]);
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let head = "S 0 2 0 1\nw 1 1\nr 1\n";
    for (text, line, found, expected) in [
        (String::new(), None, "no connection", "SEQ start exchanges"),
        ("# nothing\n\n".into(), None, "no connection", "SEQ start exchanges"),
        ("> 3\n".into(), Some(1), "`> 3`", "SEQ start exchanges"),
        ("SEQ 1 1 1\n".into(), Some(1), "`SEQ 1 1 1`", "SEQ start exchanges"),
        ("S -1 1 1 1\n".into(), Some(1), "-1", "SEQ start exchanges"),
        ("S 1 0 1 1\n".into(), Some(1), "`S 1 0 1 1`", "at least one exchange"),
        ("S 1000000000001 1 1 1\n".into(), Some(1), "1000000000001", "at most 1e12 microseconds"),
        ("S 1 1 1 1\nw 1 1\nI 0 0 1\n".into(), Some(3), "`I 0 0 1`", "one \"r rtt\""),
        ("S 1 1 1 1\nw 1 1\nw 1 1\n".into(), Some(3), "`w 1 1`", "one line \"w initiator acceptor\""),
        ("S 1 1 1 1\nw 1\n".into(), Some(2), "`w 1`", "windows in bytes"),
        ("S 1 1 1 1\nr 1.5\n".into(), Some(2), "`r 1.5`", "whole microseconds"),
        ("S 1 1 1 1\nl 0 1.5\n".into(), Some(2), "`l 0 1.5`", "ratios from 0 to 1"),
        ("S 1 1 1 1\nl 0 nan\n".into(), Some(2), "`l 0 nan`", "ratios from 0 to 1"),
        ("S 1 1 1 1\nm 0 1\n".into(), Some(2), "`m 0 1`", "largest segments"),
        (format!("{head}I 0 0\n"), Some(4), "`I 0 0`", "two waits in microseconds"),
        (format!("{head}I 1 1 5\n"), Some(4), "`I 1 1 5`", "of which one is 0"),
        (format!("{head}I 0 0 99999999999999\n"), Some(4), "9999", "up to 1e12"),
        (format!("{head}I 0 9 5\n"), Some(4), "`I 0 9 5`", "the line before is the other side's"),
        (format!("{head}> 5\n"), Some(4), "`> 5`", "I wait-sent wait-received size"),
        (format!("{head}I 0 0 5\nI 9 0 5\nI 9 0 5\n"), Some(6), "`I 9 0 5`", "no more units than"),
        (format!("{head}I 0 0 5\nI 9 0 0\nI 9 0 5\n"), Some(6), "`I 9 0 5`", "a side that has closed"),
        (format!("{head}I 0 0 5\n"), Some(4), "line 1 after 1 exchanges of 2", "the file is cut"),
        (format!("{head}I 0 0 5\nS 1 1 1 1\n"), Some(5), "line 1 after 1 exchanges of 2", "the file is cut"),
        (format!("{head}I 0 0 5\nI 9 0 5"), Some(5), "within `I 9 0 5`", "the file is cut"),
        (format!("{head}I 0 0 5\nw 1 1\n"), Some(5), "`w 1 1`", "before the data"),
        ("SEQ 0 1 0 1\nw 1 1\nr 1\n> 0\n".into(), Some(4), "`> 0`", "bytes from 1"),
        ("SEQ 0 1 0 1\nw 1 1\nr 1\nt 5\n".into(), Some(4), "`t 5`", "a unit between two waits"),
        ("SEQ 0 2 0 1\nw 1 1\nr 1\n> 5\nt 5\nt 5\n".into(), Some(6), "`t 5`", "a unit between two waits"),
        ("SEQ 0 2 0 1\nw 1 1\nr 1\n> 5\n< 5\n".into(), Some(5), "`< 5`", "\"t wait\" between"),
        ("SEQ 0 2 0 1\nw 1 1\nr 1\nc> 5\n".into(), Some(4), "`c> 5`", "> size"),
        ("CONC 0 2 0 1 1\nw 1 1\nr 1\nc> 5\nc> 5\n".into(), Some(5), "`c> 5`", "a wait of this side"),
        ("CONC 0 1 1 1 1\nw 1 1\nr 1\nc> 5\n".into(), Some(4), "after 1 and 0 units of 1 and 1", "cut"),
        ("S 0 1 0 1\n\u{7}\n".into(), Some(2), "byte 0x07", "text"),
    ] {
        let error = ConnectionVectors::parse(text.as_bytes()).expect_err(&text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.found.contains(found) && error.expected.contains(expected), "{text}: {error}");
    }
}

#[test]
fn what_is_drawn_reads_back_and_a_longer_time_begins_with_the_shorter() {
    let params = WebParams::default();
    let draw = |seconds| web_vectors(WEB_SEED, TimeDelta::from_secs(seconds), &params).expect("usual");
    let (short, long) = (draw(20), draw(40));
    assert!(short.len() > 100 && long.len() > short.len());
    assert_eq!(short[..], long[..short.len()]);
    assert_eq!(parse(&short.to_text()), short);
    let other = web_vectors(WEB_SEED + 1, TimeDelta::from_secs(20), &params).expect("usual");
    assert_ne!(other, short);
    for vector in short.iter() {
        assert!(vector.rtt >= params.rtt_min && vector.rtt <= params.rtt_max);
        assert_eq!(vector.windows, [params.window_initiator, params.window_acceptor]);
        assert_eq!(vector.units.len() % 2, 0);
        // ns-2's Tmix takes a wait of 0 behind the other side's unit for none, and never sends.
        assert!(
            vector.units[1..]
                .iter()
                .all(|unit| matches!(unit.wait, Wait::AfterReceived(wait) if wait > TimeDelta::ZERO))
        );
    }
}

#[test]
fn moments_of_pages_are_those_of_the_model() {
    let draw = |params: &WebParams| web_vectors(7, TimeDelta::from_secs(20_000), params).expect("usual");
    let params = WebParams::default();
    let pages = draw(&params);
    let bits: f64 = pages.iter().map(|page| page.payload(Side::Acceptor).as_bits_f64()).sum();
    let load = bits / 20_000.0 / params.load.as_bps_f64();
    assert!((0.98..1.02).contains(&load), "{load}");
    // IEEE C802.16m-07/182r3: 5.64 embedded objects on average.
    let objects =
        pages.iter().map(|page| page.units.len() as f64 / 2.0 - 1.0).sum::<f64>() / pages.len() as f64;
    assert!((5.55..5.75).contains(&objects), "{objects}");
    let main = pages.iter().map(|page| page.units[1].size.as_f64()).sum::<f64>() / pages.len() as f64;
    assert!((10_400.0..10_800.0).contains(&main), "{main}");
    let rtt = pages.iter().map(|page| page.rtt.as_millis_f64()).sum::<f64>() / pages.len() as f64;
    assert!((89.8..90.2).contains(&rtt), "{rtt}");
    // Fixed values are kept: 15 kB and nothing embedded.
    let size = Bytes::new(15_000);
    let fixed = WebParams { main_mean: size, main_deviation: Bytes::ZERO, objects_max: 0, ..params };
    let pages = draw(&fixed);
    assert!(pages.iter().all(|page| page.units.len() == 2 && page.units[1].size == size));
    let bits: f64 = pages.iter().map(|page| page.payload(Side::Acceptor).as_bits_f64()).sum();
    assert!((0.99..1.01).contains(&(bits / 20_000.0 / fixed.load.as_bps_f64())));
}

#[test]
fn more_than_memory_holds_is_refused() {
    let usual = WebParams::default();
    let fast = WebParams { load: Bitrate::from_mbps(1_000_000), ..usual };
    // Two thousand units of a byte each in every connection.
    let one = Bytes::new(1);
    let long = WebParams {
        objects_shape: 0.1,
        objects_max: 1000,
        embedded_mean: one,
        embedded_max: one,
        embedded_min: one,
        embedded_deviation: Bytes::ZERO,
        ..usual
    };
    for params in [fast, long] {
        let error = web_vectors(1, TimeDelta::from_secs(1000), &params).expect_err("too many");
        assert!(error.name == "load" && error.expected.contains("5,000,000"), "{error:?}");
    }
    assert!(WebParams { rtt_min: TimeDelta::from_secs(1), ..usual }.check().is_err());
}

/// A file of the original format; only of vectors whose waits it can say.
fn original(vectors: &ConnectionVectors) -> String {
    let mut text = String::new();
    for vector in vectors.iter() {
        let requests = vector.units.iter().filter(|unit| unit.side == Side::Initiator).count();
        text += &format!("SEQ {} {requests} 0 {}\n", vector.start.as_nanos() / 1000, vector.id);
        text += &format!("w {} {}\n", vector.windows[0].as_u64(), vector.windows[1].as_u64());
        text += &format!("r {}\nl 0 0\n", vector.rtt.as_nanos() / 1000);
        for (place, unit) in vector.units.iter().enumerate() {
            let (Wait::AfterSent(wait) | Wait::AfterReceived(wait)) = unit.wait;
            if place > 0 {
                text += &format!("t {}\n", wait.as_nanos() / 1000);
            }
            let side = if unit.side == Side::Initiator { ">" } else { "<" };
            text += &format!("{side} {}\n", unit.size.as_u64());
        }
    }
    text
}

fn arbitrary_units() -> impl Strategy<Value = Vec<DataUnit>> {
    let unit = (any::<bool>(), any::<bool>(), 0i64..10_000_000, 1u64..1_000_000);
    prop::collection::vec(unit, 1..12).prop_map(|drawn| {
        let mut units: Vec<DataUnit> = vec![];
        for (initiator, answers, wait, size) in drawn {
            let side = if initiator { Side::Initiator } else { Side::Acceptor };
            let across = units.last().is_some_and(|before| before.side != side);
            // A wait of 0 behind the other side's unit counts from receiving.
            let wait = match across && (answers || wait == 0) {
                true => after_received(wait),
                false => after_sent(wait),
            };
            units.push(self::unit(side, wait, size));
        }
        units
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = ConnectionVectors::parse(&bytes);
    }

    #[test]
    fn no_lines_panic(text in "([SCIAmwrlct<>#]|SEQ|CONC|[0-9]{1,13}| |\n|-|\\.){0,80}") {
        let _ = ConnectionVectors::parse(text.as_bytes());
    }

    #[test]
    fn what_is_written_reads_back(
        drawn in prop::collection::vec((0i64..1_000_000_000, arbitrary_units(), any::<bool>()), 1..6),
    ) {
        let vectors = ConnectionVectors::new(drawn.into_iter().enumerate().map(|(id, (start, units, mss))| {
            ConnectionVector {
                start: TimeDelta::from_micros(start),
                id: id as u64,
                concurrent: false,
                windows: [1 + id as u64, 65_535].map(Bytes::new),
                mss: mss.then_some([1460, 536].map(Bytes::new)),
                rtt: TimeDelta::from_micros(start / 7 % 1_000_000),
                loss: [0.25, 0.5],
                units,
            }
        }).collect());
        prop_assert_eq!(ConnectionVectors::parse(vectors.to_text().as_bytes()), Ok(vectors));
    }

    /// Wherever a file is cut: an error that says where, or the connections that are there; only the last response of the
    /// last one may be missing. A file that says how much it has gives a warning then.
    #[test]
    fn a_cut_file_is_an_error_or_its_beginning(seed in 0u64..1000, alternate: bool, part in 0.0..1.0f64) {
        let params = WebParams { load: Bitrate::from_mbps(1), ..WebParams::default() };
        let vectors = web_vectors(seed, TimeDelta::from_secs(4), &params).expect("usual");
        let text = if alternate { vectors.to_text() } else { original(&vectors) };
        let cut = &text[..(text.len() as f64 * part) as usize];
        match ConnectionVectors::parse(cut.as_bytes()) {
            Ok(read) => {
                let last = read.len() - 1;
                prop_assert_eq!(&read[..last], &vectors[..last]);
                let (there, all) = (&read[last].units, &vectors[last].units);
                let sent = there.iter().filter(|unit| unit.size > Bytes::ZERO);
                prop_assert!(sent.eq(&all[..all.len()]) || there[..all.len() - 1] == all[..all.len() - 1]);
                prop_assert_eq!(!read.warnings().is_empty(), alternate);
            }
            Err(error) => prop_assert!(error.line.is_some() || !cut.contains('S'), "{}", error),
        }
    }
}
