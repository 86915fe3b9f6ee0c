//! The program's end of the pipe: a mind that answers the simulator over standard input and output.

use super::message::{Event, Incoming, Outgoing, Plain, Told, VERSION};
use crate::answer::Answer;
use crate::controller::{Mind, MindMaker, Setting};
use crate::declared::{Description, interned};
use crate::fault::Failure;
use paceline_cc::PacketsReport;
use paceline_units::param::Value;
use paceline_units::{Time, TimeDelta};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;

/// Answers the simulator as the controller that `description` declares, until standard input ends. The kind in it means nothing: whoever
/// starts the program gives the name.
///
/// # Errors
/// If a pipe fails, or a message is not one of this version.
pub fn serve(description: &Description, maker: &dyn MindMaker) -> io::Result<()> {
    // Without the buffer of lines that standard output has: each answer leaves in one piece.
    let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    answer_all(io::stdin().lock(), output, description, maker)
}

fn answer_all(
    mut input: impl Read,
    mut output: impl Write,
    description: &Description,
    maker: &dyn MindMaker,
) -> io::Result<()> {
    let mut mind: Option<Box<dyn Mind>> = None;
    let mut message = Vec::new();
    loop {
        let mut length = [0; 4];
        match input.read_exact(&mut length) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            read => read?,
        }
        message.resize(u32::from_le_bytes(length) as usize, 0);
        input.read_exact(&mut message)?;
        let told = Incoming::told(&message).map_err(|text| io::Error::new(ErrorKind::InvalidData, text))?;
        let waits = !(description.hears.unanswered && matches!(told, Told::Event(_, _, Event::Sent(_))));
        let reply = match told {
            Told::Describe(VERSION) => Outgoing::described(description),
            Told::Describe(other) => {
                Outgoing::complaint(&format!("found version {other} of the messages, expected {VERSION}"))
            }
            Told::Event(number, now, event) => match answered(&mut mind, now, event, description, maker) {
                Ok(_) if !waits => continue,
                Ok(answer) => Outgoing::answer(number, &answer),
                Err(failure) => Outgoing::complaint(&failure.text),
            },
        };
        output.write_all(&reply.bytes())?;
    }
}

fn answered(
    mind: &mut Option<Box<dyn Mind>>,
    now: Time,
    event: Event,
    description: &Description,
    maker: &dyn MindMaker,
) -> Result<Answer, Failure> {
    if let Event::Start(setup, settings) = &event {
        let settings = settings.iter().map(|(name, value)| setting(description, name, value));
        *mind = Some(maker.make(&settings.collect::<Vec<_>>(), setup)?);
    }
    let Some(mind) = mind else {
        return Err(Failure::new("found an event, expected the start of a flow (S)"));
    };
    match event {
        Event::Start(..) => mind.start(now),
        Event::Sent(packet) => mind.sent(now, &packet),
        Event::Report(packets, ambiguous) => {
            // The messages do not say the step of the receiver's clock.
            mind.report(now, &PacketsReport { packets: &packets, clock_step: TimeDelta::ZERO, ambiguous })
        }
        Event::Timeout => mind.timeout(now),
        Event::Recovery(event, bytes) => mind.recovery(now, event, bytes),
        Event::Assigned(assigned) => mind.assigned(now, assigned),
    }
}

/// A parameter as its declaration has it.
fn setting(description: &Description, name: &str, value: &Plain) -> Setting {
    let declared = description.parameters.iter().find(|one| one.name == name);
    let value = match (value, declared) {
        (Plain::Number(number), Some(declared)) => declared.of_number(*number),
        (Plain::Number(number), None) => Value::Ratio(*number),
        (Plain::Text(text), _) => Value::Text(text.clone()),
    };
    (interned(name), value)
}
