//! The sources of media, as data.

use super::Without::{Another, Is, Told, Wrong};
use super::{Line, Listing, entry};

const FPS: Line = ("fps", Is("50"), "number", ("0.001", "1000000"), "scream-5g-2022 IV", "Frames per second");

const TRACE_ENCODER: [Line; 8] = [
    ("file", Another, "file", ("", ""), "", "Frame sizes: bytes per line, or syncodecs lines"),
    (
        "format",
        Told,
        "sizes or syncodecs",
        ("", ""),
        "",
        "How the file is written; left out: the first line tells",
    ),
    (
        "generator",
        Another,
        "frames",
        ("", ""),
        "",
        "\"frames\": sizes drawn at random; needs no file; as a table also preset = \"trace-key\"",
    ),
    FPS,
    ("offset", Is("0s"), "time", ("0s", "1000000s"), "", "Where in the trace the run starts"),
    ("key_frame_scale", Is("1"), "ratio", ("0", "100"), "ours", "Size of a key frame on demand"),
    ("nominal_gain", Is("0.05"), "ratio", ("0", "1"), "scream-5g-2022 eq. 3", "Weight of the newest frame"),
    ("nominal_start", Told, "rate", ("", ""), "ours", "Where the trace's rate starts; left out: at its mean"),
];

const RFC8593: [Line; 17] = [
    (
        "model",
        Wrong,
        "statistical, trace or hybrid",
        ("", ""),
        "RFC 8593 5, 6, 7",
        "Which of the three; the rest says for which models it is, if not for all",
    ),
    ("fps", Is("30"), "number", ("0.001", "1000000"), "RFC 8593 figure 2", "FPS, frames per second"),
    (
        "r_min",
        Told,
        "rate",
        ("0bps", ""),
        "RFC 8593 5.4",
        "The target is never taken to be below; left out: 150kbps for statistical, else no limit",
    ),
    (
        "r_max",
        Told,
        "rate",
        ("1bps", ""),
        "RFC 8593 5.4",
        "The target is never taken to be above; left out: 1.5Mbps for statistical, else no limit",
    ),
    (
        "tau_v",
        Is("200ms"),
        "time",
        ("0s", "60s"),
        "RFC 8593 5.1",
        "Not trace: how long the encoder stays with a target",
    ),
    ("k_d", Is("8"), "count", ("1", "10000"), "RFC 8593 5.2", "Not trace: frames of a burst"),
    (
        "k_b",
        Is("13500B"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 5.2",
        "Not trace: size of the burst's first frame",
    ),
    (
        "scale_t",
        Is("0.15"),
        "ratio",
        ("0", "1"),
        "RFC 8593 5.3",
        "Not trace: scale of the frame intervals' Laplace deviations",
    ),
    (
        "scale_b",
        Is("0.15"),
        "ratio",
        ("0", "1"),
        "RFC 8593 5.3",
        "Statistical: scale of the frame sizes' Laplace deviations",
    ),
    (
        "transient_change",
        Is("0.1"),
        "ratio",
        ("0", "100"),
        "RFC 8593 7",
        "Not trace: a larger change of the target makes a burst",
    ),
    (
        "seed",
        Told,
        "count",
        ("0", ""),
        "",
        "Not trace: seed of the deviations; left out: the run's, by the stream's name",
    ),
    (
        "ladder",
        Another,
        "list of { rate, file, format }",
        ("", ""),
        "RFC 8593 6.1",
        "Not statistical, which needs neither: frame sizes at each rate, the lowest first",
    ),
    (
        "generator",
        Another,
        "frames",
        ("", ""),
        "ours",
        "Not statistical, which needs neither: \"frames\", sizes drawn at random for each rate; needs no file",
    ),
    (
        "rates",
        Told,
        "list of rates",
        ("", ""),
        "ours",
        "With generator: its rates; left out: 200, 400, 600, 800, 1000, 1200 and 1500 kbps",
    ),
    (
        "skip_frames",
        Is("20"),
        "count",
        ("0", ""),
        "RFC 8593 6.2.1",
        "Not statistical: first frames that are played once; 0: all are played again",
    ),
    (
        "fs_min",
        Is("10B"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 6.2.1",
        "Not statistical: smallest frame of the ladder",
    ),
    (
        "fs_max",
        Is("1MB"),
        "size",
        ("1B", "4294967295B"),
        "RFC 8593 6.2.1",
        "Not statistical: largest frame of the ladder",
    ),
];

/// The sources of media.
pub fn sources() -> Listing {
    vec![
        entry(
            "trace-encoder",
            "An encoder whose frame sizes follow a trace, scaled to the target. Exactly one of file, generator",
            &TRACE_ENCODER,
        ),
        entry(
            "rfc8593",
            "The video models of RFC 8593: statistical, trace-driven (ladder) and hybrid. For the last two exactly one of \
             ladder, generator",
            &RFC8593,
        ),
        entry(
            "cbr",
            "Frames of one size at one rate",
            &[
                ("rate", Is("1Mbps"), "rate", ("1bps", ""), "RFC 8867", "Payload rate"),
                FPS,
                ("adaptive", Is("false"), "flag", ("", ""), "ours", "Whether the rate follows the target"),
            ],
        ),
        entry(
            "bulk",
            "A file, sent as fast as the controller allows",
            &[(
                "length",
                Told,
                "size",
                ("1B", ""),
                "RFC 8867",
                "Payload of the file; left out: it never ends",
            )],
        ),
        entry(
            "short-transfers",
            "Bursts of files fetched in parallel, each over a TCP connection of its own, and idle times",
            &[
                ("parallel", Is("30"), "count", ("1", "10000"), "RFC 8868 5.1", "Fetches that begin at once"),
                ("size_min", Is("30kB"), "size", ("1B", ""), "RFC 8868 5.1", "Payload of the smallest file"),
                ("size_max", Is("50kB"), "size", ("1B", ""), "RFC 8868 5.1", "Payload of the largest file"),
                (
                    "idle",
                    Is("10s"),
                    "time",
                    ("0s", "1000000s"),
                    "RFC 8868 5.1",
                    "Mean time from a burst's end to the next one",
                ),
                (
                    "idle_kind",
                    Is("exponential"),
                    "exponential or fixed",
                    ("", ""),
                    "RFC 8868 5.1",
                    "How it is drawn",
                ),
                (
                    "begin",
                    Is("on"),
                    "on or off",
                    ("", ""),
                    "RFC 8867 5.7",
                    "With a burst, or with an idle time",
                ),
            ],
        ),
    ]
}
