//! DCCP: any bytes are what a network, applications and unknown peers do to a connection and the hosts behind it.
//!
//! The interpreter is that of the transport's tests; it says what the bytes mean.
#![cfg_attr(fuzzing, no_main)]

#[path = "../../crates/dccp/tests/pure/script.rs"]
mod script;
#[path = "../../crates/dccp/tests/pure/standin.rs"]
mod standin;

paceline_fuzz::target!(dccp_connection);

fn dccp_connection(data: &[u8]) {
    if let Err(broken) = script::drive(data) {
        panic!("{broken}");
    }
}
