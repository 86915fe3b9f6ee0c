//! The tests of the controllers: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;

mod any_configuration;
mod ccid;
mod contract;
mod every_controller;
mod examples;
mod late_reports;
mod loss_detector;
mod members;
mod runs;
mod tfrc;
mod vocabulary;
mod window_laws;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
