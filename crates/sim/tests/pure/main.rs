//! The simulator's tests: simulated time alone, no clock and no socket.

#[path = "../../../units/tests/counting/mod.rs"]
mod counting;
#[path = "../../../../examples/own-controller/src/lib.rs"]
mod own_controller;

mod applications;
mod arithmetic;
mod bbr3;
mod c4;
mod calls;
mod captures;
mod clocks;
mod conservation;
mod conversations;
mod cost;
mod coupled;
mod coupled_groups;
mod coupled_pairs;
mod dccp;
mod deployed;
mod determinism;
mod dumbbell;
mod duplicates;
mod ecn_checks;
mod gcc;
mod gcc_oracle;
mod gcc_path;
mod liars;
mod lineage;
mod lineage_delay;
mod members;
mod memory;
mod moving;
mod nada;
mod ordinary_paths;
mod pairs;
mod prague;
mod probe;
mod published;
mod rack;
mod random;
mod rcp;
mod reference;
mod response;
mod robust;
mod scream_v2;
mod sctp;
mod shared_bottleneck;
mod sprout;
mod statistics;
mod step_oracle;
mod streams;
mod tempo;
mod threads;
mod transfers;
mod urcp;
mod urcp_held_out;
mod video_models;
mod vivace;
mod world;
mod xcp;

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;
