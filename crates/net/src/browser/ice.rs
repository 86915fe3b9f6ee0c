//! ICE lite (RFC 8445 section 2.5): connectivity checks of a browser are answered, none are made.

use crate::NetError;
use crate::secret::secret;
use std::net::SocketAddr;
use stun_types::attribute::{AttributeStaticType, AttributeType, Fingerprint, Username, XorMappedAddress};
use stun_types::message::{
    BINDING, IntegrityAlgorithm, Message, MessageClass, MessageHeader, MessageIntegrityCredentials,
    MessageWrite, MessageWriteExt, MessageWriteVec, ShortTermCredentials,
};

/// USE-CANDIDATE (RFC 8445 section 16.1): the browser chooses this pair of addresses.
const USE_CANDIDATE: AttributeType = AttributeType::new(0x0025);

/// Credentials that tell one end's connectivity checks from others' (RFC 8445 section 5.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IceCredentials {
    /// User name fragment, 4 characters at least.
    pub ufrag: String,
    /// Password, 22 characters at least.
    pub password: String,
}

impl IceCredentials {
    /// Credentials drawn from the system's random source.
    pub(crate) fn draw() -> Result<IceCredentials, NetError> {
        let ([ufrag, high], [low, _]) = (secret()?, secret()?);
        Ok(IceCredentials { ufrag: format!("{ufrag:016x}"), password: format!("{high:016x}{low:016x}") })
    }
}

/// A connectivity check that proved to be the browser's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Check {
    /// Whether it chooses the addresses that it came over.
    pub nominates: bool,
}

/// Knows a browser's connectivity checks by what both ends' descriptions said.
pub(super) struct IceLite {
    /// The user name of a check: ours, a colon, the browser's.
    username: String,
    key: MessageIntegrityCredentials,
}

impl IceLite {
    /// For checks between an end that has `own` and a browser whose fragment is `remote`.
    pub fn new(own: &IceCredentials, remote: &str) -> IceLite {
        let key = ShortTermCredentials::new(own.password.clone()).into();
        IceLite { username: format!("{}:{remote}", own.ufrag), key }
    }

    /// The check that a datagram is, if it is the browser's: a binding request with its user name and our password's
    /// integrity.
    pub fn check(&self, datagram: &[u8]) -> Option<Check> {
        let message = self.request(datagram)?;
        message.validate_integrity(&self.key).ok()?;
        Some(Check { nominates: message.has_attribute(USE_CANDIDATE) })
    }

    /// The answer to a check that came from `from`.
    pub fn answer(&self, check: &[u8], from: SocketAddr) -> Option<Vec<u8>> {
        let request = self.request(check)?;
        let mut answer = Message::builder_success(&request, MessageWriteVec::new());
        answer.add_attribute(&XorMappedAddress::new(from, request.transaction_id())).ok()?;
        answer.add_message_integrity(&self.key, IntegrityAlgorithm::Sha1).ok()?;
        answer.add_fingerprint().ok()?;
        Some(answer.finish())
    }

    fn request<'d>(&self, datagram: &'d [u8]) -> Option<Message<'d>> {
        // No integrity covers the length as it stands in the header.
        let whole = MessageHeader::from_bytes(datagram).ok()?.data_length();
        if usize::from(whole) + MessageHeader::LENGTH != datagram.len() {
            return None;
        }
        let message = Message::from_bytes(datagram).ok()?;
        let name = message.attribute::<Username>().ok()?;
        // Checks have a fingerprint (RFC 8445 section 7.1.3), which is compared where messages are read.
        let ours = message.has_class(MessageClass::Request)
            && message.has_method(BINDING)
            && message.has_attribute(Fingerprint::TYPE);
        (ours && name.username() == self.username).then_some(message)
    }
}

/// Whether a datagram says that it is STUN's, of what goes over one port with RTP (RFC 7983 section 7).
pub(super) fn is_stun(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|first| *first <= 3)
}

#[cfg(test)]
#[path = "../../tests/checks/mod.rs"]
mod checks;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn credentials(ufrag: &str) -> IceCredentials {
        IceCredentials { ufrag: ufrag.into(), password: "0123456789012345678901".into() }
    }

    fn check(own: &IceCredentials, remote: &str, nominates: bool) -> Vec<u8> {
        checks::check((&own.ufrag, &own.password), remote, nominates)
    }

    #[test]
    fn a_check_is_answered_with_the_address_that_it_came_from() {
        let (own, from) = (credentials("here"), SocketAddr::from(([127, 0, 0, 1], 4000)));
        let ice = IceLite::new(&own, "there");
        for nominates in [false, true] {
            let request = check(&own, "there", nominates);
            assert_eq!(ice.check(&request), Some(Check { nominates }));
            let answer = ice.answer(&request, from).expect("an answer");
            assert!(is_stun(&request) && is_stun(&answer));
            assert_eq!(ice.check(&answer), None, "an answer is no check");
            let answer = Message::from_bytes(&answer).expect("STUN");
            answer.validate_integrity(&ice.key).expect("ours");
            let transaction = Message::from_bytes(&request).expect("STUN").transaction_id();
            let mapped = answer.attribute::<XorMappedAddress>().expect("an address");
            assert_eq!((answer.transaction_id(), mapped.addr(transaction)), (transaction, from));
        }
    }

    #[test]
    fn checks_of_others_are_none() {
        let own = credentials("here");
        let ice = IceLite::new(&own, "there");
        let forged = IceCredentials { password: "a guess that is wrong .".into(), ..own.clone() };
        assert_eq!(ice.check(&check(&forged, "there", true)), None);
        assert_eq!(ice.check(&check(&own, "elsewhere", true)), None);
        let mut bare = Message::builder_request(BINDING, MessageWriteVec::new());
        bare.add_attribute(&Username::new("here:there").expect("a name")).expect("room");
        assert_eq!(ice.check(&bare.finish()), None, "without integrity");
        let drawn = [(); 2].map(|()| IceCredentials::draw().expect("random"));
        assert!(drawn[0] != drawn[1] && drawn[0].ufrag.len() >= 4 && drawn[0].password.len() >= 22);
    }

    proptest! {
        #[test]
        fn a_damaged_check_is_none(at in 0usize..100, bit in 0u8..8) {
            let own = credentials("here");
            let mut request = check(&own, "there", true);
            let at = at % request.len();
            request[at] ^= 1 << bit;
            prop_assert_eq!(IceLite::new(&own, "there").check(&request), None);
        }

        #[test]
        fn no_datagram_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let ice = IceLite::new(&credentials("here"), "there");
            prop_assert_eq!(ice.check(&bytes), None);
        }
    }
}
