//! Connectivity checks as browsers make them (RFC 8445 section 7.1), for the tests that play browsers.

use stun_types::attribute::{AttributeType, RawAttribute, Username};
use stun_types::message::{
    BINDING, IntegrityAlgorithm, Message, MessageWrite, MessageWriteExt, MessageWriteVec,
    ShortTermCredentials,
};

/// USE-CANDIDATE (RFC 8445 section 16.1).
const USE_CANDIDATE: AttributeType = AttributeType::new(0x0025);

/// The check of an end with this user name fragment and password, by a browser whose fragment is `remote`.
pub fn check((ufrag, password): (&str, &str), remote: &str, nominates: bool) -> Vec<u8> {
    let mut request = Message::builder_request(BINDING, MessageWriteVec::new());
    let name = Username::new(&format!("{ufrag}:{remote}")).expect("a name");
    request.add_attribute(&name).expect("room");
    if nominates {
        request.add_attribute(&RawAttribute::new(USE_CANDIDATE, &[])).expect("room");
    }
    let key = ShortTermCredentials::new(password.into()).into();
    request.add_message_integrity(&key, IntegrityAlgorithm::Sha1).expect("room");
    request.add_fingerprint().expect("room");
    request.finish()
}
