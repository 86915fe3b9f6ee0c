//! Tests of the schema as a whole.

mod alternatives;
mod bad_input;
mod coupling;
mod dccp;
mod ecn;
mod limits;
mod listing;
mod loading;
mod networks;
mod over_time;
mod overrides;
mod queues;
mod round_trip;
mod tmix;
mod topology;
mod transfers;
mod usual;
mod verbs;
