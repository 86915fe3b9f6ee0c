//! The trace parsers: what they read, what they refuse, and that nothing makes them panic.

use super::*;
use crate::trace::{Column, Trace, TraceError, TraceFormat, TraceOptions};
use proptest::prelude::*;

fn options(format: TraceFormat) -> TraceOptions {
    let interval = (format == TraceFormat::Mbps).then_some(TimeDelta::from_secs(1));
    TraceOptions { interval, ..TraceOptions::new(format) }
}

/// Segments in milliseconds and Mbit/s.
fn read(format: TraceFormat, text: &str) -> Vec<(f64, f64)> {
    segments(&Trace::parse(text.as_bytes(), &options(format)).expect("a trace"))
}

fn segments(trace: &Trace) -> Vec<(f64, f64)> {
    trace.segments().iter().map(|(span, rate)| (span.as_millis_f64(), rate.as_mbps_f64())).collect()
}

fn refused(format: TraceFormat, bytes: &[u8]) -> TraceError {
    Trace::parse(bytes, &options(format)).expect_err("refused")
}

#[test]
fn units_of_a_header_are_taken_at_their_word() {
    let file = b"time_ms,download (kbit/s)\n0,8000\n500,2000\n1000,8000\n";
    let trace = Trace::parse(file, &options(TraceFormat::TimeMbps)).expect("a trace");
    assert_eq!(segments(&trace)[..2], [(500.0, 8.0), (500.0, 2.0)]);
    assert!(trace.warnings()[0].to_string().starts_with("line 1: the header names other units"));
    let numbers = Trace::parse_numbers(file, &options(TraceFormat::TimeMbps)).expect("a trace");
    assert_eq!(segments(&numbers)[0], (500.0, 8000.0), "the caller's scale stands in for the unit");
    let usual =
        Trace::parse(b"time_s,rate_mbps\n0,8\n1,2\n", &options(TraceFormat::TimeMbps)).expect("a trace");
    assert!(usual.warnings().is_empty());
}

#[test]
fn mbps_is_a_rate_per_line() {
    assert_eq!(read(TraceFormat::Mbps, "1.5\r\n0\r\n3\r\n"), [(1000.0, 1.5), (1000.0, 0.0), (1000.0, 3.0)]);
    assert_eq!(
        read(TraceFormat::Mbps, "\u{feff}# a comment\nrate\n1\n1\n\n2"),
        [(2000.0, 1.0), (1000.0, 2.0)]
    );
}

#[test]
fn a_column_is_read_by_name_or_index_and_the_last_value_holds_where_there_is_none() {
    let file =
        b"t_start_dl,download_mbps,upload_mbps\n2024-04-19 16:23:00.001,17.5,1\n2024-04-19 16:22:59,,2\n\
        2024-04-19 18:00:00,18.5,3\n";
    for column in [Column::Name("download_mbps".into()), Column::Index(1)] {
        let options = TraceOptions { column: Some(column), ..options(TraceFormat::Mbps) };
        let trace = Trace::parse(file, &options).expect("a trace");
        assert_eq!(segments(&trace), [(2000.0, 17.5), (1000.0, 18.5)]);
        assert_eq!((trace.warnings()[0].line, trace.warnings()[0].count), (3, 1));
    }
    let missing = TraceOptions { column: Some(Column::Name("down".into())), ..options(TraceFormat::Mbps) };
    let error = Trace::parse(file, &missing).expect_err("refused");
    assert_eq!((error.line, &*error.expected), (Some(1), "a header that names the column"));
}

/// Whatever the format, no later value moves in time.
#[test]
fn a_row_without_a_value_lasts_as_long_as_any_other() {
    let cases = [
        (TraceFormat::Mbps, "a,rate\n0,\n1,2\n2,\n3,\n4,5\n5,\n", vec![(4e3, 2.0), (2e3, 5.0)], Some("rate")),
        (TraceFormat::Mbps, "rate\n\"\"\n2\n\"\"\n5\n", vec![(3e3, 2.0), (1e3, 5.0)], None),
        (TraceFormat::TimeMbps, "0,\n1,2\n2,\n4,5\n5,\n", vec![(4e3, 2.0), (2e3, 5.0)], None),
        (
            TraceFormat::TimeMbps,
            "t;up;rate\n0;7;\n1;;2\n2;7;\n4;;5\n5;7;\n",
            vec![(4e3, 2.0), (2e3, 5.0)],
            Some("rate"),
        ),
        (
            TraceFormat::TimeMbps,
            "t\tup\trate\n0\t7\t\n1\t\t2\n2\t7\t\n4\t\t5\n5\t7\t\n",
            vec![(4e3, 2.0), (2e3, 5.0)],
            Some("rate"),
        ),
        (TraceFormat::TimeMbps, "t\trate\n0\t\n1\t2\n2\t\n4\t5\n5\t\n", vec![(4e3, 2.0), (2e3, 5.0)], None),
        (TraceFormat::MbpsHold, ",1\n2,3\n,0.5\n5,1\n", vec![(4500.0, 2.0), (1e3, 5.0)], None),
    ];
    for (format, text, expected, column) in cases {
        let column = column.map(|name| Column::Name(name.into()));
        let options = TraceOptions { column, ..options(format) };
        let trace =
            Trace::parse(text.as_bytes(), &options).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(segments(&trace), expected, "{text:?}");
        let said: Vec<_> = trace.warnings().iter().map(|warning| warning.what).collect();
        assert!(said.iter().any(|said| said.ends_with("the last value holds")), "{text:?}: {said:?}");
        assert!(said.iter().any(|said| said.ends_with("the first value holds")), "{text:?}: {said:?}");
    }
    let json = r#"[{"duration_ms": 500, "bandwidth_kbps": null}, {"duration_ms": 1000, "bandwidth_kbps": 2000},
        {"duration_ms": 500, "bandwidth_kbps": null}, {"duration_ms": 1000, "bandwidth_kbps": 1000}]"#;
    let trace = Trace::parse(json.as_bytes(), &options(TraceFormat::JsonGhent)).expect("a trace");
    assert_eq!((segments(&trace), trace.warnings().len()), (vec![(2e3, 2.0), (1e3, 1.0)], 2));
}

/// Nobody can tell whether a blank line is a value that is missing.
#[test]
fn a_blank_line_between_values_is_said() {
    let trace = Trace::parse(b"\n1\n\n# noon\n2\n \n3\n\n", &options(TraceFormat::Mbps)).expect("a trace");
    assert_eq!(segments(&trace), [(1000.0, 1.0), (1000.0, 2.0), (1000.0, 3.0)]);
    let said: Vec<_> = trace.warnings().iter().map(|warning| (warning.line, warning.count)).collect();
    assert_eq!(said, [(3, 2)]);
}

#[test]
fn columns_that_are_aligned_by_tabs_are_no_empty_cells() {
    assert_eq!(read(TraceFormat::TimeMbps, "t\trate\n0\t\t1\n1\t\t2\n"), [(1e3, 1.0), (1e3, 2.0)]);
    assert_eq!(read(TraceFormat::TimeMbps, "t \t\t rate\n0\t\t1\n1\t\t2\n"), [(1e3, 1.0), (1e3, 2.0)]);
    assert_eq!(refused(TraceFormat::TimeMbps, b"t\trate\n0\t1\n\t2\n").line, Some(3), "no time");
}

#[test]
fn time_mbps_starts_at_its_first_time_and_holds_the_last_for_the_usual_step() {
    for text in
        ["1.0\t64\n2.0\t162\n4.0\t5\n5.0\t6\n", "1,64\n2,162\n4,5\n5,6", "t Mbps\n1 64\n2  162\r\n4 5\n5 6"]
    {
        assert_eq!(read(TraceFormat::TimeMbps, text), [(1e3, 64.0), (2e3, 162.0), (1e3, 5.0), (1e3, 6.0)]);
    }
    let last = TraceOptions { interval: Some(TimeDelta::from_millis(5)), ..options(TraceFormat::TimeMbps) };
    assert_eq!(segments(&Trace::parse(b"-3 7", &last).expect("a trace")), [(5.0, 7.0)]);
    assert_eq!(refused(TraceFormat::TimeMbps, b"3 7").found, "a single row");
}

#[test]
fn time_mbps_leaves_out_rows_that_do_not_advance_and_says_so() {
    let text = b"0 1\n1 2\n1 3\n0.5 4\n2 5\n3 6\n9 7\n";
    let trace = Trace::parse(text, &options(TraceFormat::TimeMbps)).expect("a trace");
    assert_eq!(segments(&trace), [(1e3, 1.0), (1e3, 2.0), (1e3, 5.0), (6e3, 6.0), (1e3, 7.0)]);
    let warnings: Vec<(usize, usize)> =
        trace.warnings().iter().map(|warning| (warning.line, warning.count)).collect();
    assert_eq!(warnings, [(3, 2), (7, 1)]);
    let said = trace.warnings()[0].to_string();
    assert_eq!(said, "line 3: a time that does not advance; the row was left out (2 in all)");
}

#[test]
fn mbps_hold_is_a_rate_and_its_duration() {
    assert_eq!(
        read(TraceFormat::MbpsHold, "2310,0.31\n0,0.30\n3064,0.25"),
        [(310.0, 2310.0), (300.0, 0.0), (250.0, 3064.0)]
    );
    let trace = Trace::parse(b"1 1\n2 0\n", &options(TraceFormat::MbpsHold)).expect("a trace");
    assert_eq!((segments(&trace), trace.warnings().len()), (vec![(1000.0, 1.0)], 1));
}

#[test]
fn mahimahi_is_a_rate_per_millisecond_up_to_the_timestamp() {
    // Opportunities of 12 000 bits: two by 1 ms, none by 2 and 3, one by 4.
    assert_eq!(read(TraceFormat::Mahimahi, "1\n1\n4\n"), [(1.0, 24.0), (2.0, 0.0), (1.0, 12.0)]);
    assert_eq!(read(TraceFormat::Mahimahi, "0\n1\n2\n2\n"), [(2.0, 24.0)]);
    assert_eq!(read(TraceFormat::Mahimahi, "3"), [(2.0, 0.0), (1.0, 12.0)]);
    let own = TraceOptions { opportunity: Bytes::new(1504), ..options(TraceFormat::Mahimahi) };
    assert_eq!(segments(&Trace::parse(b"1", &own).expect("a trace")), [(1.0, 12.032)]);
    assert_eq!(refused(TraceFormat::Mahimahi, b"5\n4\n").line, Some(2));
    assert_eq!(refused(TraceFormat::Mahimahi, b"0\n0\n").found, "only opportunities at 0");
}

#[test]
fn a_full_packet_leaves_when_mahimahi_would_deliver_it() {
    let trace = Trace::parse(b"3\n4\n10\n", &options(TraceFormat::Mahimahi)).expect("a trace");
    let process = RateProcess::Trace { trace, offset: TimeDelta::ZERO, scale: 1.0, repeat: true };
    let outcome = run(unlimited(process), &[(0, 1500); 5], Ecn::NotEct, Time::MAX);
    assert_eq!(departed(&outcome), [3, 4, 10, 13, 14].map(|time| time * 1_000_000));
}

#[test]
fn json_ghent_is_a_list_of_objects() {
    let text = "[\r\n {\"duration_ms\": 741, \"bandwidth_kbps\": 14489, \"latency_ms\": 20},\n{\"x\":\"a\\\"b\", \
        \"bandwidth_kbps\":0.5,\"duration_ms\":1000.5}\n]\n";
    assert_eq!(read(TraceFormat::JsonGhent, text), [(741.0, 14.489), (1000.5, 0.0005)]);
    for (text, line) in
        [("[\n{\"duration_ms\": 1}]", 2), ("[\n\n{\"duration_ms\": -1", 3), ("[{}]", 1), ("[]", 1)]
    {
        assert_eq!(refused(TraceFormat::JsonGhent, text.as_bytes()).line, Some(line), "{text}");
    }
    for text in
        ["[", "[{", "[{\"", "[{\"a", "[{\"a\"", "[{\"a\":", "[{\"a\":1", "[{\"a\":[1]}]", "{}", "[1]", "[\"é"]
    {
        assert!(refused(TraceFormat::JsonGhent, text.as_bytes()).line.is_some(), "{text}");
    }
    let good = "{\"duration_ms\":1,\"bandwidth_kbps\":1}";
    for text in [format!("[{good},]"), format!("[{good}] x"), format!("[{good} {good}]")] {
        assert!(refused(TraceFormat::JsonGhent, text.as_bytes()).line.is_some(), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let cases: [(TraceFormat, &[u8], Option<usize>, &str); 17] = [
        (TraceFormat::Mbps, b"", None, "an empty file"),
        (TraceFormat::Mbps, b"\n# nothing\n", None, "an empty file"),
        (TraceFormat::JsonGhent, b" \n", None, "an empty file"),
        (TraceFormat::Mahimahi, b"", None, "an empty file"),
        (TraceFormat::Mbps, b"rate\n", Some(1), "only a header"),
        (TraceFormat::Mbps, b"1\n\x002\n", Some(2), "a NUL byte"),
        (TraceFormat::Mahimahi, b"\x1f\x8b\x08", Some(1), "bytes that are no UTF-8"),
        (TraceFormat::Mbps, b"1\nNaN\n", Some(2), "NaN"),
        (TraceFormat::Mbps, b"1\n2\ninf\n", Some(3), "inf"),
        (TraceFormat::Mbps, b"1\n-2\n", Some(2), "-2"),
        (TraceFormat::MbpsHold, b"1 1\n2 -0.5\n", Some(2), "-0.5"),
        (TraceFormat::Mbps, b"0\n0\n", None, "only zeros"),
        (TraceFormat::Mbps, b"1\n\ntwo\n", Some(3), "two"),
        (TraceFormat::Mbps, b"0.0 1\n1.0 2\n", Some(1), "0.0 1"),
        (TraceFormat::TimeMbps, b"1\n2\n", Some(1), "1"),
        (TraceFormat::Mahimahi, b"1\n2.5\n", Some(2), "2.5"),
        (TraceFormat::Mahimahi, b"0.1 3.5\n", Some(1), "0.1 3.5"),
    ];
    for (format, bytes, line, found) in cases {
        let error = refused(format, bytes);
        assert_eq!((error.line, error.found.as_str()), (line, found), "{format:?}");
    }
    let error = refused(TraceFormat::Mbps, b"1\n-2\n");
    assert_eq!(error.to_string(), "line 2: found \"-2\", expected a rate in Mbit/s, a number from 0 to 1e9");
    let without = TraceOptions::new(TraceFormat::Mbps);
    assert_eq!(Trace::parse(b"1\n", &without).expect_err("refused").found, "no interval");
}

/// Units that no recording has, and text that is not in UTF-8.
#[test]
fn what_is_in_another_unit_or_encoding_is_told_by_its_name() {
    let utf16: Vec<u8> = "1\n2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let marked = [&[0xff, 0xfe][..], &utf16].concat();
    let big: Vec<u8> = "1\n2\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    for &format in TraceFormat::ALL {
        for bytes in [&utf16, &marked, &big] {
            let error = refused(format, bytes);
            assert_eq!((error.line, error.found.as_str()), (None, "text in UTF-16"), "{format:?}");
            assert!(error.expected.contains("iconv -f UTF-16"), "{}", error.expected);
        }
    }
    let epoch = refused(TraceFormat::TimeMbps, b"1713543780001 5\n1713543780101 6\n");
    assert!(epoch.line == Some(1) && epoch.expected.contains("divided by 1000"), "{epoch}");
    let epoch = refused(TraceFormat::Mahimahi, b"1713543780001\n1713543780002\n");
    assert!(epoch.line == Some(1) && epoch.expected.contains("not since 1970"), "{epoch}");
    // Seconds since 1970 are as good as any.
    assert_eq!(read(TraceFormat::TimeMbps, "1713543780.5 5\n1713543781.5 6\n"), [(1e3, 5.0), (1e3, 6.0)]);
    for (format, text) in
        [(TraceFormat::TimeMbps, "0 5\n1000 6\n2000 7\n"), (TraceFormat::MbpsHold, "5 300\n6 300\n7 1\n")]
    {
        let trace = Trace::parse(text.as_bytes(), &options(format)).expect("a trace");
        assert!(trace.warnings()[0].what.ends_with("as seconds"), "{:?}", trace.warnings());
    }
}

#[test]
fn zeros_may_stand_for_another_rate() {
    let trace = Trace::parse(
        b"5\n0\n0\n7\n",
        &TraceOptions { interval: Some(TimeDelta::from_secs(1)), ..options(TraceFormat::Mbps) },
    );
    let filled = trace.expect("rates").with_zeros_at(Bitrate::from_mbps(7)).expect("a rate");
    assert_eq!(segments(&filled), [(1000.0, 5.0), (3000.0, 7.0)]);
}

#[test]
fn a_trace_knows_its_length_mean_and_ends() {
    let trace = Trace::parse(b"10 1\n0 2\n40 1\n", &options(TraceFormat::MbpsHold)).expect("a trace");
    assert_eq!((trace.length(), trace.mean()), (TimeDelta::from_secs(4), Bitrate::from_bps(12_500_000)));
    assert_eq!((trace.min(), trace.max()), (Bitrate::ZERO, Bitrate::from_mbps(40)));
}

#[test]
fn every_format_has_a_name() {
    for &format in TraceFormat::ALL {
        assert_eq!(TraceFormat::named(format.name()), Some(format));
    }
    assert_eq!(TraceFormat::named("csv"), None);
}

/// Text that is nearly a trace: digits, separators, signs and what JSON has.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "0",
        "1",
        "9",
        "2.5",
        "-",
        ".",
        "e9",
        "NaN",
        "inf",
        " ",
        "\t",
        ",",
        ";",
        "\n",
        "\r\n",
        "#",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ":",
        "duration_ms",
        "bandwidth_kbps",
        "{\"duration_ms\":1,\"bandwidth_kbps\":2}",
        "99999999999999999999",
        "é",
        "\\",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_bytes_make_a_parser_panic(
        bytes in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), nearly()],
        column in prop::option::of(prop_oneof![(0usize..4).prop_map(Column::Index), Just(Column::Name("1".into()))]),
        interval in any::<i64>(), opportunity in any::<u64>(),
    ) {
        for &format in TraceFormat::ALL {
            let interval = Some(TimeDelta::from_nanos(interval));
            let opportunity = Bytes::new(opportunity);
            let wild = TraceOptions { format, interval, column: column.clone(), time_column: column.clone(), opportunity };
            for options in [options(format), wild] {
                if let Ok(trace) = Trace::parse(&bytes, &options) {
                    prop_assert!(trace.length() > TimeDelta::ZERO && trace.max() > Bitrate::ZERO);
                    prop_assert!(trace.min() <= trace.mean() && trace.mean() <= trace.max());
                }
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back(segments in prop::collection::vec((1u32..1_000_000, 0u32..3_000_000), 1..50)) {
        prop_assume!(segments.iter().any(|&(_, kbps)| kbps > 0));
        let parts = |&(micros, kbps): &(u32, u32)| {
            (TimeDelta::from_micros(i64::from(micros)), Bitrate::from_kbps(u64::from(kbps)))
        };
        let expected = Trace::from_segments(segments.iter().map(parts)).expect("a trace");
        let row = |&(micros, kbps): &(u32, u32)| format!("{},{}\n", f64::from(kbps) / 1e3, f64::from(micros) / 1e6);
        let text: String = segments.iter().map(row).collect();
        let found = Trace::parse(text.as_bytes(), &options(TraceFormat::MbpsHold)).expect("a trace");
        prop_assert_eq!(found, expected);
    }
}
