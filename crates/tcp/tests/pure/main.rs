//! TCP end to end over a network that does what a test says.

mod accurate_ecn;
mod conversations;
mod hostile;
mod net;
mod rack;
mod recovery;
mod segments;
mod timestamps;
mod transfers;
