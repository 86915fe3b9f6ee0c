//! A key whose type says so is a value or a table: one line of its declaration, as for any other key.

use crate::params;
use crate::reader::{Input, Table};
use paceline_units::param::{Kind, ParamError, Parameter, Value};
use paceline_units::{TimeDelta, params};

params! {
    /// A delay that changes evenly.
    struct RampKeys {
        from: TimeDelta = TimeDelta::ZERO, as Required, in 0.0, 9.0, "", "Where it begins";
        to: TimeDelta = TimeDelta::ZERO, in 0.0, 9.0, "", "Where it ends";
    }
    check differs;
}

fn differs(ramp: &RampKeys) -> Result<(), ParamError> {
    match ramp.from == ramp.to {
        true => Err(ParamError::new("to", Value::Time(ramp.to), "another delay than at the beginning")),
        false => Ok(()),
    }
}

#[derive(Clone, PartialEq, Debug)]
enum Delay {
    Constant(TimeDelta),
    Ramp(RampKeys),
}

impl Parameter for Delay {
    const KIND: Kind = Kind::Or(&Kind::Time, &RampKeys::KIND);

    fn to_value(&self) -> Option<Value> {
        match self {
            Delay::Constant(delay) => delay.to_value(),
            Delay::Ramp(ramp) => ramp.to_value(),
        }
    }

    fn from_value(value: Value) -> Option<Delay> {
        match value {
            Value::Time(delay) => Some(Delay::Constant(delay)),
            ramp => RampKeys::from_value(ramp).map(Delay::Ramp),
        }
    }

    fn fits(&self) -> Result<(), ParamError> {
        if let Delay::Ramp(ramp) = self { ramp.fits() } else { Ok(()) }
    }
}

params! {
    struct Keys {
        delay: Delay = Delay::Constant(TimeDelta::ZERO), in 0.0, 5.0, "", "Delay of a link";
    }
}

/// The same text as it is read and written back, or the key and the text expected of the error.
fn read(text: &str) -> Result<String, (String, String)> {
    let input = Input { file: "a.toml", text };
    let document = input.parse().expect("TOML");
    let mut keys = Keys::default();
    let read = params::read(&Table::root(&input, &document), &mut keys, &[]);
    read.map_err(|error| (error.key, error.expected.into()))?;
    let mut written = toml_edit::DocumentMut::new();
    params::write(written.as_table_mut(), &keys);
    Ok(written.to_string().trim().into())
}

#[test]
fn both_are_read_checked_and_written_back() {
    for text in ["delay = \"10ms\"", "delay = { from = \"1s\", to = \"2s\" }"] {
        assert_eq!(read(text).as_deref(), Ok(text));
    }
    assert_eq!(read("").as_deref(), Ok("delay = \"0s\""));
    for (text, key, expected) in [
        ("delay = \"6s\"", "delay", "a time from 0s to 5s, or a table { from, to }"),
        ("delay = [\"1s\"]", "delay", "a table { from, to }"),
        ("delay = { to = \"1s\" }", "delay.from", "a time such as"),
        ("delay = { from = \"10s\" }", "delay.from", "a time from 0s to 9s"),
        ("delay = { form = \"1s\" }", "delay.form", "one of the keys from, to"),
        ("delay = { from = \"1s\", to = \"1s\" }", "delay.to", "another delay than at the beginning"),
    ] {
        let (at, said) = read(text).expect_err(text);
        assert!(at == key && said.contains(expected), "{text}: {at}: {said}");
    }
}
