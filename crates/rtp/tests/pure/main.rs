//! The tests of RTP's ends: simulated time alone, no clock and no socket.

mod plan;
