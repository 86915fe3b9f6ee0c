//! Tests of the schema as a whole.

mod bad_input;
mod loading;
mod queues;
mod round_trip;
mod topology;
mod transfers;
