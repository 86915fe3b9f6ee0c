//! Ten calls whose links fail and come back, and fail if one does not go on, memory grows or descriptors are lost: `soak SPAN`, such as
//! 1800s.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what a program is for")]

#[allow(clippy::disallowed_methods, reason = "the soak waits beside the calls that it watches")]
#[path = "../tests/real_time/soak_calls.rs"]
mod soak_calls;

use paceline_units::TimeDelta;
use paceline_units::text::Dimension;
use std::process::ExitCode;

fn main() -> ExitCode {
    let text = std::env::args().nth(1).unwrap_or_default();
    let nanos = Dimension::Time.parse(&text).ok().and_then(|nanos| i64::try_from(nanos).ok());
    let span = nanos.map(TimeDelta::from_nanos).filter(|span| *span >= TimeDelta::from_secs(60));
    let Some(span) = span else {
        eprintln!("soak: found {text:?}, expected a time of 60s or more, such as \"1800s\"");
        return ExitCode::from(2);
    };
    match soak_calls::soak(span) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(broken) => {
            println!("FAILED: {broken}");
            ExitCode::FAILURE
        }
    }
}
