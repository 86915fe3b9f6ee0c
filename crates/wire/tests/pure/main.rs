//! The tests of the formats: bytes in and out, no clock and no socket.

mod captured_feedback;
mod ccfb_oracle;
mod ccfb_properties;
mod ccfb_vectors;
mod dccp;
mod rtcp;
mod rtp;
mod twcc_oracle;
