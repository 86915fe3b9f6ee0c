//! Tests of the schema as a whole.

mod bad_input;
mod dccp;
mod loading;
mod queues;
mod round_trip;
mod topology;
mod transfers;
mod verbs;
