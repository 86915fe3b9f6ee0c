//! Generators: rates that nobody recorded, from a seed.

mod mmwave;

pub use mmwave::{MmwaveParams, Shape, StateParams, mmwave};
