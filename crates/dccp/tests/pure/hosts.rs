//! Many connections on one address: RFC 4340 sections 8.1.2 to 8.1.4 and 8.5, steps 2 and 3.

use super::standin::StandIns;
use paceline_dccp::{DccpConfig, Event, FlowId, Host, HostConfig, ListenError, State};
use paceline_units::{Ecn, Time, TimeDelta};
use paceline_wire::dccp::{
    Body, DccpOption, Packet, PacketType, Payload, Ports, ResetCode, ResetReason, SequenceNumber, ServiceCode,
};

const CLIENT: u128 = 1;
const SERVER: u128 = 2;
const SERVICE: ServiceCode = ServiceCode(7);
const OTHER: ServiceCode = ServiceCode(8);

/// From how many connections on Requests are answered with cookies.
const ALWAYS: usize = 0;
const NEVER: usize = usize::MAX;

fn config(cookies_from: usize) -> HostConfig {
    HostConfig { cookies_from, ..HostConfig::new([11, 22]) }
}

fn listening(config: &HostConfig) -> Host<StandIns> {
    let mut host = Host::new(config, StandIns);
    host.listen(80, SERVICE).expect("a valid code");
    host.listen(80, OTHER).expect("a valid code");
    host
}

fn flow(port: u16) -> FlowId {
    FlowId { address: SERVER, udp_port: 0, ports: Ports { source: port, destination: 80 } }
}

/// Both hosts over a path without delay, for so long.
fn run(now: &mut Time, client: &mut Host<StandIns>, server: &mut Host<StandIns>, span: TimeDelta) {
    let until = *now + span;
    loop {
        for _ in 0..1000 {
            let sent = client.poll_transmit(*now).map(|(_, transmit)| (true, transmit));
            let sent = sent.or_else(|| server.poll_transmit(*now).map(|(_, transmit)| (false, transmit)));
            match sent {
                Some((true, transmit)) => server.on_packet(*now, CLIENT, 0, transmit.packet, transmit.ecn),
                Some((false, transmit)) => client.on_packet(*now, SERVER, 0, transmit.packet, transmit.ecn),
                None => break,
            }
        }
        let next = client.next_timeout().into_iter().chain(server.next_timeout()).min();
        let Some(next) = next.filter(|next| *next <= until) else { break };
        *now = (*now).max(next);
        client.handle_timeout(*now);
        server.handle_timeout(*now);
    }
    *now = until;
}

fn events(host: &mut Host<StandIns>) -> Vec<Event> {
    std::iter::from_fn(|| host.poll_event()).map(|(_, event)| event).collect()
}

fn request(port: u16, service: ServiceCode) -> Packet {
    let ports = Ports { source: port, destination: 80 };
    Packet::new(ports, SequenceNumber::new(1000), Body::Request { service })
}

/// Packets that a host sends at once in answer to a packet.
fn answer(host: &mut Host<StandIns>, now: Time, packet: Packet) -> Option<Packet> {
    host.on_packet(now, CLIENT, 0, packet, Ecn::NotEct);
    host.poll_transmit(now).map(|(_, transmit)| transmit.packet)
}

fn code(packet: Option<Packet>) -> Option<ResetCode> {
    match packet?.body {
        Body::Reset { reason, .. } => Some(reason.code),
        _ => None,
    }
}

#[test]
fn hosts_connect_send_and_forget() {
    for cookies in [NEVER, ALWAYS] {
        let (mut client, mut server) = (Host::new(&config(cookies), StandIns), listening(&config(cookies)));
        let mut now = Time::ZERO;
        client.connect(now, flow(5000), SERVICE, Payload::EMPTY).expect("room");
        assert_eq!(client.connect(now, flow(5000), SERVICE, Payload::EMPTY), Err(ListenError::InUse));
        client.connect(now, flow(5001), OTHER, Payload::Bytes(b"early".to_vec())).expect("room");
        run(&mut now, &mut client, &mut server, TimeDelta::from_secs(1));
        assert_eq!(server.flows().count(), 2, "{cookies:?}");
        let connected = events(&mut server).into_iter().filter(|event| *event == Event::Connected).count();
        assert_eq!(connected, 2, "{cookies:?}");
        for port in [5000, 5001] {
            let connection = client.connection_mut(&flow(port)).expect("it is there");
            assert_eq!(connection.state(), State::Open, "{cookies:?} {port}");
            connection.send(now, Payload::Bytes(vec![1, 2, 3])).expect("room");
        }
        run(&mut now, &mut client, &mut server, TimeDelta::from_secs(1));
        let received =
            events(&mut server).into_iter().filter(|event| matches!(event, Event::Received { .. })).count();
        assert_eq!(received, 2, "{cookies:?}");
        client.connection_mut(&flow(5000)).expect("there").close(now);
        client.connection_mut(&flow(5001)).expect("there").abort(now);
        run(&mut now, &mut client, &mut server, TimeDelta::from_secs(300));
        let _ = (events(&mut client), events(&mut server));
        assert_eq!((client.flows().count(), server.flows().count()), (0, 0), "{cookies:?}");
        assert_eq!((client.next_timeout(), server.next_timeout()), (None, None));
    }
}

/// A driver's three steps after a packet: what happened, what is to be sent, or the other way round.
fn poll(host: &mut Host<StandIns>, now: Time, events_first: bool) -> Vec<Packet> {
    if events_first {
        events(host);
    }
    let sent = std::iter::from_fn(|| host.poll_transmit(now)).map(|(_, transmit)| transmit.packet).collect();
    if !events_first {
        events(host);
    }
    sent
}

#[test]
fn a_closed_connection_is_forgotten_whatever_is_polled_first() {
    for (events_first, cookies) in [(false, NEVER), (true, NEVER), (true, ALWAYS)] {
        let mut host = listening(&HostConfig { max_connections: 16, ..config(cookies) });
        let now = Time::ZERO;
        for port in 1..=40 {
            host.on_packet(now, CLIENT, 0, request(port, SERVICE), Ecn::NotEct);
            let response = poll(&mut host, now, events_first).remove(0);
            assert_eq!(response.packet_type(), PacketType::Response, "{port}: {response:?}");
            let acknowledgment = response.sequence;
            for (number, body) in
                [(1001, Body::Ack { acknowledgment }), (1002, Body::Close { acknowledgment })]
            {
                let mut packet = request(port, SERVICE);
                (packet.sequence, packet.body) = (SequenceNumber::new(number), body);
                packet.options = response.options.clone();
                packet.options.retain(|option| matches!(option, DccpOption::InitCookie(_)));
                host.on_packet(now, CLIENT, 0, packet, Ecn::NotEct);
                let answers = poll(&mut host, now, events_first);
                let ends = |packet: &Packet| packet.packet_type() == PacketType::Reset;
                assert_eq!(answers.iter().any(ends), number == 1002, "{answers:?}");
            }
            assert_eq!(host.flows().count(), 0, "events first {events_first}, {cookies:?}");
        }
        assert_eq!(host.next_timeout(), None);
    }
}

/// The end that closes waits in TIMEWAIT; when that is over nothing is sent and nothing is told.
#[test]
fn a_connection_out_of_timewait_is_forgotten_whatever_is_polled_first() {
    for events_first in [false, true] {
        let config = config(NEVER);
        let (mut client, mut server) = (Host::new(&config, StandIns), listening(&config));
        let mut now = Time::ZERO;
        client.connect(now, flow(5000), SERVICE, Payload::EMPTY).expect("room");
        run(&mut now, &mut client, &mut server, TimeDelta::from_secs(1));
        client.connection_mut(&flow(5000)).expect("there").close(now);
        run(&mut now, &mut client, &mut server, TimeDelta::from_secs(1));
        poll(&mut client, now, events_first);
        assert_eq!(client.connection(&flow(5000)).map(|client| client.state()), Some(State::TimeWait));
        now += TimeDelta::from_secs(300);
        client.handle_timeout(now);
        assert!(poll(&mut client, now, events_first).is_empty());
        assert_eq!((client.flows().count(), client.next_timeout()), (0, None), "events first {events_first}");
    }
}

#[test]
fn section_8_1_2_other_service_codes_are_refused() {
    let mut host = listening(&config(NEVER));
    for service in [ServiceCode(9), ServiceCode::INVALID, ServiceCode::NONE] {
        assert_eq!(
            code(answer(&mut host, Time::ZERO, request(5, service))),
            Some(ResetCode::BAD_SERVICE_CODE)
        );
    }
    for (port, service) in [(6, SERVICE), (7, OTHER)] {
        let answer = answer(&mut host, Time::ZERO, request(port, service)).expect("several codes per port");
        assert_eq!(answer.packet_type(), PacketType::Response);
    }
    assert_eq!(host.listen(80, ServiceCode::INVALID), Err(ListenError::InvalidService));
    let twice = host.listen(80, SERVICE);
    assert_eq!(twice, Err(ListenError::ServiceInUse { port: 80, service: SERVICE }), "RFC 5595 section 3.3");
    assert_eq!(host.flows().count(), 2);
}

#[test]
fn section_8_1_3_where_nobody_listens_requests_are_refused() {
    let mut host = listening(&config(NEVER));
    let mut packet = request(5, SERVICE);
    packet.ports.destination = 81;
    let answer = answer(&mut host, Time::ZERO, packet.clone()).expect("a reset");
    assert_eq!(answer.sequence, SequenceNumber::ZERO);
    assert_eq!(answer.body.acknowledgment(), Some(packet.sequence));
    assert_eq!(code(Some(answer)), Some(ResetCode::CONNECTION_REFUSED));
    host.stop_listening(80);
    host.on_packet(Time::ZERO, CLIENT, 0, request(5, SERVICE), Ecn::NotEct);
    let refused = host.poll_transmit(Time::ZERO).map(|(_, transmit)| transmit.packet);
    assert_eq!(code(refused), Some(ResetCode::CONNECTION_REFUSED));
}

#[test]
fn section_8_1_3_a_busy_host_says_so_and_resets_are_limited() {
    let mut host = listening(&HostConfig { max_connections: 3, ..config(NEVER) });
    let mut codes = Vec::new();
    for port in 1..=2000 {
        codes.extend(code(answer(&mut host, Time::ZERO, request(port, SERVICE))));
    }
    assert_eq!((codes.len(), host.flows().count()), (1024, 3), "not more than 1024 a second");
    assert!(codes.iter().all(|code| *code == ResetCode::TOO_BUSY));
    assert_eq!(host.limited(), 2000 - 3 - 1024);
}

#[test]
fn section_8_5_step_2_packets_of_no_connection_are_reset() {
    let mut host = listening(&config(ALWAYS));
    for kind in PacketType::ALL.into_iter().filter(|kind| *kind != PacketType::Request) {
        let reason = ResetReason::new(ResetCode::CLOSED);
        let body = Body::new(kind, SequenceNumber::new(5), SERVICE, reason);
        let packet = Packet { body, ..request(9, SERVICE) };
        let expected = (kind != PacketType::Reset).then_some(ResetCode::NO_CONNECTION);
        assert_eq!(code(answer(&mut host, Time::ZERO, packet)), expected, "{kind:?}");
    }
}

/// The Response of a host with cookies, and the Ack that returns them.
fn with_cookie(host: &mut Host<StandIns>, now: Time, port: u16) -> (Packet, Packet) {
    let response = answer(host, now, request(port, SERVICE)).expect("a Response");
    let mut ack = request(port, SERVICE);
    ack.sequence = SequenceNumber::new(1001);
    ack.body = Body::Ack { acknowledgment: response.sequence };
    let cookie = |option: &&DccpOption| matches!(option, DccpOption::InitCookie(_));
    ack.options = response.options.iter().filter(cookie).cloned().collect();
    assert!(!ack.options.is_empty());
    (response, ack)
}

#[test]
fn section_8_1_4_a_flood_of_requests_makes_no_connection() {
    let mut host = listening(&HostConfig { cookies_per_second: 20_000, ..config(ALWAYS) });
    for n in 0..20_000u32 {
        let packet = request((n % 60_000) as u16, SERVICE);
        host.on_packet(Time::from_nanos(u64::from(n) * 1000), u128::from(n), 0, packet, Ecn::NotEct);
        let (_, transmit) = host.poll_transmit(Time::ZERO).expect("a Response");
        assert_eq!(transmit.packet.packet_type(), PacketType::Response);
    }
    assert_eq!((host.flows().count(), host.next_timeout()), (0, None));
    // Policies in between keep that number.
    let mut host = listening(&config(10));
    (0..1000).for_each(|port| host.on_packet(Time::ZERO, CLIENT, 0, request(port, SERVICE), Ecn::NotEct));
    assert_eq!(host.flows().count(), 10);
}

/// Requests under forged addresses must not make a great deal of what their senders could not send to these themselves.
#[test]
fn responses_with_cookies_are_limited_and_other_answers_are_not() {
    let mut host = listening(&config(ALWAYS));
    let mut answered = |from: u64, flow: &FlowId| {
        let requests = (0..6000u64).map(|n| Time::from_nanos(from + n * 100_000));
        let answers = requests.filter(|now| {
            host.on_packet(*now, flow.address, 0, request(flow.ports.source, SERVICE), Ecn::NotEct);
            host.poll_transmit(*now).is_some()
        });
        (answers.count(), host.limited())
    };
    assert_eq!(answered(0, &flow(5)), (4096, 6000 - 4096));
    assert_eq!(answered(1_000_000_000, &flow(6)), (4096, 2 * (6000 - 4096)), "a second later again");
    // A host that listens to a service of another name is told so; and cookies that were given out are good.
    let now = Time::from_nanos(1_700_000_000);
    assert_eq!(code(answer(&mut host, now, request(5, ServiceCode(9)))), Some(ResetCode::BAD_SERVICE_CODE));
    let later = Time::from_nanos(2_100_000_000);
    let (_, ack) = with_cookie(&mut host, later, 7);
    (0..5000).for_each(|port| host.on_packet(later, CLIENT, 0, request(port, SERVICE), Ecn::NotEct));
    while host.poll_transmit(later).is_some() {}
    assert_eq!(answer(&mut host, later, ack).map(|packet| packet.packet_type()), Some(PacketType::Ack));
}

#[test]
fn section_8_1_4_a_returned_cookie_makes_the_connection() {
    let mut host = listening(&config(ALWAYS));
    let (response, ack) = with_cookie(&mut host, Time::ZERO, 5);
    let later = Time::from_nanos(5_000_000_000);
    let back = answer(&mut host, later, ack).expect("the packet that ends PARTOPEN");
    assert_eq!(back.packet_type(), PacketType::Ack);
    assert_eq!(back.sequence, response.sequence.plus(1), "numbers go on from the Response's");
    assert_eq!(host.flows().count(), 1);
}

#[test]
fn section_8_1_4_what_is_no_cookie_of_ours_is_refused() {
    let now = Time::ZERO;
    let mut host = listening(&config(ALWAYS));
    let (_, good) = with_cookie(&mut host, now, 5);
    let DccpOption::InitCookie(bytes) = good.options[0].clone() else { panic!("a cookie") };
    for at in 0..bytes.len() {
        let (mut packet, mut changed) = (good.clone(), bytes.clone());
        changed[at] ^= 1;
        packet.options = vec![DccpOption::InitCookie(changed)].into();
        assert_eq!(code(answer(&mut host, now, packet)), Some(ResetCode::BAD_INIT_COOKIE), "byte {at}");
    }
    let mut other = good.clone();
    other.ports.source = 6;
    assert_eq!(code(answer(&mut host, now, other)), Some(ResetCode::BAD_INIT_COOKIE), "another flow's");
    let mut wrong = good.clone();
    wrong.body = Body::Ack { acknowledgment: SequenceNumber::new(1) };
    assert_eq!(code(answer(&mut host, now, wrong)), Some(ResetCode::BAD_INIT_COOKIE), "another Response's");
    let late = Time::from_nanos(61_000_000_000);
    assert_eq!(code(answer(&mut host, late, good.clone())), Some(ResetCode::BAD_INIT_COOKIE), "too old");
    let mut data = good.clone();
    data.body = Body::Data;
    assert_eq!(
        code(answer(&mut host, now, data)),
        Some(ResetCode::NO_CONNECTION),
        "on Data they are ignored"
    );
    let mut elsewhere = Host::new(&HostConfig { secret: [1, 1], ..config(ALWAYS) }, StandIns);
    elsewhere.listen(80, SERVICE).expect("valid");
    assert_eq!(code(answer(&mut elsewhere, now, good)), Some(ResetCode::BAD_INIT_COOKIE), "another secret");
    assert_eq!(host.flows().count(), 0);
}

#[test]
fn section_7_2_initial_numbers_differ_by_flow_and_time() {
    let number = |at: u64, port| {
        let mut host = listening(&config(NEVER));
        answer(&mut host, Time::from_nanos(at), request(port, SERVICE)).expect("a Response").sequence
    };
    assert_ne!(number(0, 5), number(0, 6));
    assert_eq!(number(4_000_000, 5).since(number(0, 5)), 250, "a clock of 16 us");
    // The numbers that a connection uses in a second lie between, in 48 bits and in 24, for two segment lifetimes.
    for later in [1, 67, 120, 240] {
        let [first, second] = [0, later * 1_000_000_000].map(|at| number(at, 5));
        assert!(second.since(first) >= 1 << 24, "{later} s");
        let apart = second.low().wrapping_sub(first.low()) % (1 << 24);
        assert!(apart.min((1 << 24) - apart) > 60_000, "{later} s: {apart}");
    }
}

#[test]
fn section_8_1_3_without_state_too_each_response_has_the_next_number() {
    let mut host = listening(&config(ALWAYS));
    let first = answer(&mut host, Time::ZERO, request(5, SERVICE)).expect("a Response").sequence;
    let mut again = request(5, SERVICE);
    again.sequence = again.sequence.plus(1);
    let second = answer(&mut host, Time::from_nanos(1_000_000_000), again).expect("a Response").sequence;
    assert_eq!(second, first.plus(1));
}

#[test]
fn rfc_6773_section_3_8_udp_ports_tell_flows_apart() {
    let mut host = listening(&config(NEVER));
    for udp_port in [0, 7000, 7001] {
        host.on_packet(Time::ZERO, CLIENT, udp_port, request(5, SERVICE), Ecn::NotEct);
    }
    assert_eq!(host.flows().count(), 3);
}

#[test]
fn a_port_scan_leaves_nothing_behind() {
    let mut host = listening(&HostConfig {
        connection: DccpConfig { resets_per_second: 10, ..DccpConfig::default() },
        ..config(NEVER)
    });
    for port in 0..=u16::MAX {
        let mut packet = request(4000, SERVICE);
        packet.ports.destination = port;
        host.on_packet(Time::ZERO, CLIENT, 0, packet, Ecn::NotEct);
    }
    let answers = std::iter::from_fn(|| host.poll_transmit(Time::ZERO)).count();
    assert_eq!((answers, host.flows().count()), (11, 1), "ten resets and the one Response");
}
