//! quinn's estimate of round trips. Its type has no public constructor, but a controller is lent one: so two connections of
//! quinn's talk to each other in this process, over a path whose round trips are those of the run, and the sender's controller
//! keeps what it is lent.

use quinn_proto::congestion::{Controller, ControllerFactory};
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, RttEstimator,
    ServerConfig, TransportConfig,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

type Lent = Arc<Mutex<Option<RttEstimator>>>;

/// The estimate, from the first round trip on.
#[derive(Default)]
pub struct RoundTrips {
    lent: Lent,
    pair: Option<Pair>,
    known: Option<RttEstimator>,
}

impl RoundTrips {
    /// The estimate before this round trip, which counts from the next call on; none before there was any. The first one is known at
    /// once: quinn has it from its handshake.
    pub fn estimator(&mut self, rtt: Option<Duration>) -> Option<RttEstimator> {
        let before = self.known;
        if let Some(rtt) = rtt {
            let pair = self.pair.get_or_insert_with(|| Pair::connected(&self.lent, rtt));
            pair.ping(rtt);
            self.known = *self.lent.lock().expect("one thread");
        }
        before.or(self.known)
    }

    pub fn known(&self) -> Option<RttEstimator> {
        self.known
    }
}

/// A controller that limits nothing, and keeps the estimate that it is lent.
#[derive(Clone)]
struct Watcher(Lent);

impl Controller for Watcher {
    fn on_ack(&mut self, _now: Instant, _sent: Instant, _bytes: u64, _app_limited: bool, rtt: &RttEstimator) {
        *self.0.lock().expect("one thread") = Some(*rtt);
    }

    fn on_congestion_event(&mut self, _now: Instant, _sent: Instant, _is_persistent: bool, _lost: u64) {}

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        1 << 30
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

impl ControllerFactory for Watcher {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        self.clone_box()
    }
}

/// An endpoint with its connection, once there is one.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

/// A client and a server. The way to the server takes no time, the way back all of the round trip.
struct Pair {
    client: End,
    server: End,
    /// The client's clock: it goes on by each round trip.
    now: Instant,
}

const THERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

impl End {
    /// Everything that the end has to send.
    fn datagrams(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let Some((handle, connection)) = &mut self.connection else { return Vec::new() };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
        let mut datagrams = Vec::new();
        let mut bytes = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut bytes) {
            datagrams.push(bytes[..transmit.size].to_vec());
            bytes.clear();
        }
        datagrams
    }

    fn take(&mut self, now: Instant, datagram: &[u8]) {
        let mut bytes = Vec::new();
        match self.endpoint.handle(now, THERE, None, None, datagram.into(), &mut bytes) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut bytes, None).ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }
}

impl Pair {
    /// Two ends that have shaken hands over a path of this round trip.
    fn connected(lent: &Lent, rtt: Duration) -> Pair {
        let now = Instant::now();
        let transport = |factory: Option<Watcher>| {
            let mut config = TransportConfig::default();
            config.max_idle_timeout(None).mtu_discovery_config(None);
            if let Some(factory) = factory {
                config.congestion_controller_factory(Arc::new(factory));
            }
            Arc::new(config)
        };
        let certified = rcgen::generate_simple_self_signed(["localhost".into()]).expect("a certificate");
        let certificate = CertificateDer::from(certified.cert);
        let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).expect("a key");
        let mut server =
            ServerConfig::with_single_cert(vec![certificate.clone()], key).expect("a configuration");
        server.transport_config(transport(None));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate).expect("a root");
        let tls =
            rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(&[&rustls::version::TLS13])
                .expect("TLS 1.3")
                .with_root_certificates(roots)
                .with_no_client_auth();
        let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).expect("cipher suites")));
        client.transport_config(transport(Some(Watcher(lent.clone()))));
        let endpoint =
            |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, false, Some([7; 32]));
        let mut pair = Pair {
            client: End { endpoint: endpoint(None), connection: None },
            server: End { endpoint: endpoint(Some(Arc::new(server))), connection: None },
            now,
        };
        pair.client.connection = pair.client.endpoint.connect(now, client, THERE, "localhost").ok();
        for _ in 0..3 {
            pair.exchange(rtt);
        }
        pair
    }

    /// Two packets that ask for an acknowledgement, which the server thus does not delay.
    fn ping(&mut self, rtt: Duration) {
        for _ in 0..2 {
            if let Some((_, connection)) = &mut self.client.connection {
                connection.ping();
            }
            for datagram in self.client.datagrams(self.now) {
                self.server.take(self.now, &datagram);
            }
        }
        self.exchange(rtt);
    }

    fn exchange(&mut self, rtt: Duration) {
        for datagram in self.client.datagrams(self.now) {
            self.server.take(self.now, &datagram);
        }
        let back = self.server.datagrams(self.now);
        self.now += rtt;
        for datagram in back {
            self.client.take(self.now, &datagram);
        }
    }
}
