//! Calls that go on for long, and fail if a packet is lost or memory grows: `long_run SIMULATED LOOPBACK`, such as 86400s and 1800s.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what a program is for")]

#[path = "../tests/long/mod.rs"]
mod long;

use long::{CALLS, over_loopback, simulate};
use paceline_units::TimeDelta;
use paceline_units::text::Dimension;
use std::process::ExitCode;

fn span(argument: Option<String>) -> Result<TimeDelta, String> {
    let text = argument.ok_or("expected two times: long_run SIMULATED LOOPBACK")?;
    let nanos = Dimension::Time.parse(&text).ok().and_then(|nanos| i64::try_from(nanos).ok());
    let span = nanos.map(TimeDelta::from_nanos).filter(|span| *span >= TimeDelta::from_secs(10));
    span.ok_or(format!("found {text:?}, expected a time of 10s or more, such as \"1800s\""))
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (simulated, loopback) = match (span(arguments.next()), span(arguments.next())) {
        (Ok(simulated), Ok(loopback)) => (simulated, loopback),
        (Err(message), _) | (_, Err(message)) => {
            eprintln!("long_run: {message}");
            return ExitCode::from(2);
        }
    };
    let outcomes = std::thread::scope(|scope| {
        let real = CALLS.map(|call| scope.spawn(move || (call.0, over_loopback(call, loopback).flatten())));
        let mut outcomes = CALLS.map(|call| (call.0, simulate(call, simulated))).to_vec();
        outcomes.extend(real.map(|call| call.join().expect("no panic")));
        outcomes
    });
    let mut all_well = true;
    for (controller, outcome) in outcomes {
        match outcome {
            Ok(said) => println!("{controller}: {said}"),
            Err(broken) => {
                println!("{controller}: FAILED: {broken}");
                all_well = false;
            }
        }
    }
    if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
