//! SCTP end to end over a network that does what a test says.

mod hostile;
mod net;
mod recovery;
mod streams;
