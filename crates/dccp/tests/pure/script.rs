//! Any bytes are what happens to a connection and the host behind it: packets that are lost, doubled, reordered, changed
//! and forged, applications that do what they like, clocks that leap.
//!
//! It needs only the modules and the crates below, so that the fuzz target `dccp_connection` takes this very
//! file in by its path.

#[path = "../../../units/tests/script/mod.rs"]
mod bytes;

use super::standin::StandIns;
use bytes::Script;
use paceline_cc::ccid::DropCode;
use paceline_dccp::{
    CCID_2, CCID_3, DccpConfig, Ended, Event, FeatureId, FlowId, Host, HostConfig, Location, State,
};
use paceline_units::{Bytes, Ecn, Time, TimeDelta};
use paceline_wire::dccp::{
    Body, DccpOption, FeatureOption, Packet, PacketType, Payload, Ports, ResetCode, ResetReason,
    SequenceNumber, ServiceCode,
};
use std::collections::VecDeque;

const ENDLESS: usize = 20_000;
/// Most packets that are under way, each way; others are lost.
const UNDER_WAY: usize = 512;
const CLIENT: u128 = 1;
const SERVER: u128 = 2;
const SERVICE: ServiceCode = ServiceCode(7);
const MOST_CONNECTIONS: usize = 8;
const FLOW: FlowId = FlowId { address: SERVER, udp_port: 0, ports: Ports { source: 5000, destination: 80 } };

/// Runs `bytes`. The first says whether anybody is hostile, and whether events are asked for before packets; then comes what
/// both ends are told. If nobody forges what only the ends can know, the connection survives, and what is sent at the end
/// arrives.
///
/// # Errors
/// Says which promise was broken. A panic is a broken promise too.
pub fn drive(bytes: &[u8]) -> Result<(), String> {
    let mut script = Script { bytes, at: 0 };
    let choice = script.byte();
    let mut world = World::new(&mut script, choice & 0x80 != 0, choice & 0x40 != 0);
    world.client.connect(world.now, FLOW, SERVICE, Payload::EMPTY).map_err(|error| error.to_string())?;
    world.settle()?;
    while script.at < bytes.len() {
        world.operation(&mut script)?;
        world.settle()?;
    }
    // A long rest, which costs a thousand times as much as a script, is for one in so many.
    if world.hostile { Ok(()) } else { world.finish(choice & 0x3f == 0) }
}

impl Script<'_> {
    fn data(&mut self) -> Vec<u8> {
        let count = self.byte() % 40;
        (0..count).map(|_| self.byte()).collect()
    }
}

struct World {
    now: Time,
    hostile: bool,
    events_first: bool,
    /// Whether the application closed or aborted.
    ended: bool,
    client: Host<StandIns>,
    server: Host<StandIns>,
    to_server: VecDeque<(Packet, Ecn)>,
    to_client: VecDeque<(Packet, Ecn)>,
    /// The last packets each way, to forge others after.
    seen: [Option<Packet>; 2],
    sent: u64,
    received: u64,
    connected: bool,
    closed: Option<ResetReason>,
    /// Whether the client was in OPEN: only then must the connection survive.
    opened: bool,
}

fn config(script: &mut Script<'_>) -> HostConfig {
    let (a, b, c) = (script.byte(), script.byte(), script.byte());
    let ccids = |both: u8| match both & 3 {
        0 => vec![CCID_2],
        1 => vec![CCID_2, CCID_3],
        2 => vec![CCID_3, CCID_2],
        _ => vec![CCID_2, 200],
    };
    let connection = DccpConfig {
        send_ccids: ccids(a),
        receive_ccids: ccids(a >> 2),
        short_numbers: a & 16 != 0,
        ndp_count: a & 32 != 0,
        ack_vector: a & 64 != 0,
        timestamps: a & 128 != 0,
        data_checksum: b & 1 != 0,
        deliver_corrupt: b & 2 != 0,
        ecn_incapable: b & 4 != 0,
        ect: if b & 8 != 0 { Ecn::Ect0 } else { Ecn::NotEct },
        coverage: b >> 4,
        minimum_coverage: c & 15,
        sequence_window: [100, 32, 1000, 1 << 45][usize::from(c >> 4 & 3)],
        mtu: Bytes::new([1480, 100, 600, 9000][usize::from(c >> 6)]),
        probe_mtu: (c & 1 != 0).then_some(Bytes::new(3000)),
        send_queue: 50,
        receive_queue: 20,
        ..DccpConfig::default()
    };
    let cookies_from = match b & 3 {
        0 => usize::MAX,
        1 => 0,
        _ => 4,
    };
    HostConfig { connection, max_connections: MOST_CONNECTIONS, cookies_from, ..HostConfig::new([3, 4]) }
}

impl World {
    fn new(script: &mut Script<'_>, hostile: bool, events_first: bool) -> World {
        let mut server = Host::new(&config(script), StandIns);
        let client = Host::new(&config(script), StandIns);
        let _ = server.listen(80, SERVICE);
        World {
            now: Time::ZERO,
            hostile,
            events_first,
            ended: false,
            client,
            server,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            seen: [None, None],
            sent: 0,
            received: 0,
            connected: false,
            closed: None,
            opened: false,
        }
    }

    /// Everything that both want to send goes under way, and what happened is heard.
    fn settle(&mut self) -> Result<(), String> {
        if self.events_first {
            self.hear();
        }
        self.transmit()?;
        if !self.events_first {
            self.hear();
        }
        self.opened |= self.client.connection(&FLOW).is_some_and(|client| client.state() == State::Open);
        if self.server.flows().count() > MOST_CONNECTIONS {
            return Err("more connections than there may be".into());
        }
        let closed = |host: &Host<StandIns>| {
            let mut states = host.flows().filter_map(|flow| host.connection(flow)).map(|one| one.state());
            states.any(|state| state == State::Closed)
        };
        if closed(&self.client) || closed(&self.server) {
            return Err("a closed connection is kept".into());
        }
        Ok(())
    }

    fn transmit(&mut self) -> Result<(), String> {
        for whom in 0..2 {
            for count in 0.. {
                if count == ENDLESS {
                    return Err(format!("end {whom} never stops sending"));
                }
                let host = if whom == 0 { &mut self.client } else { &mut self.server };
                let Some((_, transmit)) = host.poll_transmit(self.now) else { break };
                let packet = transmit.packet;
                if packet.header_len() > 1020 || packet.coverage > 15 || packet.ccval > 15 {
                    return Err(format!("cannot be written: {packet:?}"));
                }
                let way = if whom == 0 { &mut self.to_server } else { &mut self.to_client };
                if packet.ports.source == 5000 || packet.ports.destination == 5000 {
                    self.seen[whom] = Some(packet.clone());
                }
                if way.len() < UNDER_WAY {
                    way.push_back((packet, transmit.ecn));
                }
            }
        }
        Ok(())
    }

    fn hear(&mut self) {
        while let Some((flow, event)) = self.client.poll_event() {
            if flow == FLOW {
                self.connected |= event == Event::Connected;
                if let Event::Closed(Ended { reason, .. }) = event {
                    self.closed = Some(reason);
                }
            }
        }
        while let Some((flow, event)) = self.server.poll_event() {
            if flow.ports.destination == 5000 && flow.address == CLIENT {
                self.received += u64::from(matches!(event, Event::Received { .. }));
            }
        }
    }

    fn pass(&mut self, span: TimeDelta) -> Result<(), String> {
        let until = self.now + span;
        let mut same = 0;
        loop {
            let next = self.client.next_timeout().into_iter().chain(self.server.next_timeout()).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            same = if next > self.now { 0 } else { same + 1 };
            if same > ENDLESS {
                return Err(format!("time stands still at {:?}", self.now));
            }
            self.now = self.now.max(next);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.settle()?;
        }
        self.now = until;
        Ok(())
    }

    /// Nobody was woken for so long. Clocks end after 584 years, where every timer is due at once: no leap goes there.
    fn leap(&mut self, span: TimeDelta) {
        if self.now.as_nanos() < u64::MAX / 2 {
            self.now += span;
        }
        self.client.handle_timeout(self.now);
        self.server.handle_timeout(self.now);
    }

    fn deliver(&mut self, to_server: bool, at: usize, again: bool) -> Option<()> {
        let way = if to_server { &mut self.to_server } else { &mut self.to_client };
        let at = at.checked_rem(way.len())?;
        let (packet, ecn) = if again { way.get(at).cloned()? } else { way.remove(at)? };
        self.arrive(to_server, CLIENT, packet, ecn);
        Some(())
    }

    fn arrive(&mut self, to_server: bool, address: u128, packet: Packet, ecn: Ecn) {
        match to_server {
            true => self.server.on_packet(self.now, address, 0, packet, ecn),
            false => self.client.on_packet(self.now, SERVER, 0, packet, ecn),
        }
    }

    fn operation(&mut self, script: &mut Script<'_>) -> Result<(), String> {
        let operation = script.byte();
        let to_server = operation & 0x80 != 0;
        match operation & 0x1f {
            0..6 => {
                self.deliver(to_server, 0, false);
            }
            6 => {
                let at = script.byte().into();
                self.deliver(to_server, at, false);
            }
            7 => {
                let at = script.byte().into();
                self.deliver(to_server, at, true);
            }
            8 => {
                let way = if to_server { &mut self.to_server } else { &mut self.to_client };
                way.pop_front();
            }
            9 => {
                let way = if to_server { &mut self.to_server } else { &mut self.to_client };
                if let Some((_, ecn)) = way.front_mut() {
                    *ecn = Ecn::Ce;
                }
            }
            10..14 => self.send(script, to_server),
            14..18 => self.pass(TimeDelta::from_millis(i64::from(script.byte())))?,
            18 => self.pass(TimeDelta::from_secs(i64::from(script.byte() % 8)))?,
            19 => self.application(script, to_server),
            20 => self.off_window(script, to_server),
            21 => self.unknown_peer(script),
            22..26 if self.hostile => self.forge(script, to_server),
            26 if self.hostile => self.end(script, to_server),
            27 if self.hostile => self.leap(TimeDelta::from_secs(i64::from(script.word()))),
            _ => {
                self.deliver(to_server, 0, false);
            }
        }
        Ok(())
    }

    /// The connection of an end.
    fn flow(&self, server: bool) -> FlowId {
        if server { FlowId { address: CLIENT, udp_port: 0, ports: FLOW.ports.reversed() } } else { FLOW }
    }

    fn send(&mut self, script: &mut Script<'_>, server: bool) {
        let size = script.word() % 1500;
        let (flow, now) = (self.flow(server), self.now);
        let host = if server { &mut self.server } else { &mut self.client };
        let Some(connection) = host.connection_mut(&flow) else { return };
        let size = size.min(connection.max_datagram().as_u64() as u32);
        let sent = connection.send(now, Payload::dummy(size, now)).is_ok();
        self.sent += u64::from(sent && !server);
    }

    fn application(&mut self, script: &mut Script<'_>, server: bool) {
        let (flow, now) = (self.flow(server), self.now);
        let hostile = self.hostile;
        let host = if server { &mut self.server } else { &mut self.client };
        let Some(connection) = host.connection_mut(&flow) else { return };
        match script.byte() % 8 {
            0 => connection.set_slow(true),
            1 => connection.set_slow(false),
            2 => connection.announce(FeatureId::AckRatio, u64::from(script.byte() % 8)),
            3 => connection.announce(FeatureId::SequenceWindow, 100 + u64::from(script.word()) % 1000),
            4 => connection.prefer(Location::Remote, FeatureId::SendNdpCount, &[script.byte() & 1]),
            5 if hostile => connection.prefer(Location::Local, FeatureId::Ccid, &[CCID_3, CCID_2]),
            6 if hostile => {
                let sequence = SequenceNumber::new(script.word().into());
                connection.report_dropped(sequence, DropCode::ReceiveBuffer);
            }
            7 if hostile => {
                let sequence = self.seen[usize::from(server)].as_ref().map(|packet| packet.sequence);
                connection.on_too_big(now, sequence, Bytes::new(u64::from(script.word() % 2000)));
            }
            _ => {}
        }
    }

    fn end(&mut self, script: &mut Script<'_>, server: bool) {
        self.ended = true;
        let (flow, now) = (self.flow(server), self.now);
        let host = if server { &mut self.server } else { &mut self.client };
        match (host.connection_mut(&flow), script.byte() % 4) {
            (Some(connection), 0) => connection.abort(now),
            (Some(connection), 1) => connection.stop_listening(),
            (Some(connection), _) => connection.close(now),
            (None, _) => {}
        }
    }

    /// A blind attacker: right ports, numbers far outside of both windows.
    fn off_window(&mut self, script: &mut Script<'_>, to_server: bool) {
        let Some(template) = self.seen[usize::from(!to_server)].clone() else { return };
        // Never close to what is sent, and none that a quiet end's lenient rule for Syncs lets in.
        let far = |script: &mut Script<'_>| (1i64 << 46) + i64::from(script.word()) * 1000;
        let kind = PacketType::ALL[usize::from(script.byte()) % 10];
        let acknowledgment = SequenceNumber::new(script.word().into()).plus(far(script));
        let mut packet = Packet::new(
            template.ports,
            template.sequence.plus(-far(script)),
            body(kind, acknowledgment, script),
        );
        packet.options = options(script).into();
        let state =
            |host: &mut Host<StandIns>, flow| host.connection_mut(flow).map(|connection| connection.state());
        // In REQUEST there is no window yet, and windows may be as wide as 2^45.
        let flow = self.flow(to_server);
        let host = if to_server { &mut self.server } else { &mut self.client };
        if state(host, &flow).is_some_and(|state| state > State::Respond) {
            self.arrive(to_server, CLIENT, packet, Ecn::NotEct);
        }
    }

    /// Somebody else: Requests and scans from other addresses and ports.
    fn unknown_peer(&mut self, script: &mut Script<'_>) {
        for _ in 0..script.byte() % 32 {
            let ports = Ports {
                source: 6000 + u16::from(script.byte()),
                destination: 80 + u16::from(script.byte() & 1),
            };
            let kind = if script.byte() & 3 == 0 {
                PacketType::ALL[usize::from(script.byte()) % 10]
            } else {
                PacketType::Request
            };
            let acknowledgment = SequenceNumber::new(script.word().into());
            let sequence = SequenceNumber::new(script.word().into());
            let mut packet = Packet::new(ports, sequence, body(kind, acknowledgment, script));
            if kind == PacketType::Request {
                packet.body = Body::Request { service: SERVICE };
            }
            packet.options = options(script).into();
            let address = 100 + u128::from(script.byte());
            self.arrive(true, address, packet, Ecn::NotEct);
        }
    }

    /// Somebody who knows all numbers: any packet after one that was sent.
    fn forge(&mut self, script: &mut Script<'_>, to_server: bool) {
        let Some(template) = self.seen[usize::from(!to_server)].clone() else { return };
        let other =
            self.seen[usize::from(to_server)].as_ref().map_or(SequenceNumber::ZERO, |packet| packet.sequence);
        let near = |script: &mut Script<'_>| i64::from(script.byte()) - 100;
        let kind = PacketType::ALL[usize::from(script.byte()) % 10];
        let acknowledgment = other.plus(near(script).min(0));
        let mut packet = Packet::new(
            template.ports,
            template.sequence.plus(near(script)),
            body(kind, acknowledgment, script),
        );
        let flags = script.byte();
        packet.short = flags & 1 != 0;
        packet.coverage = flags >> 4;
        packet.options = options(script).into();
        packet.payload = Payload::Bytes(script.data());
        self.arrive(to_server, CLIENT, packet, Ecn::from_bits(flags >> 1));
    }

    /// Nobody was hostile: the path becomes good, and the connection must work within 400 s: after all of them where it
    /// `rests`, else as soon as it is open.
    fn finish(&mut self, rests: bool) -> Result<(), String> {
        let mut verdict = Ok(());
        for tried in 0..200 {
            self.quiet(TimeDelta::from_secs(2))?;
            let open = self.client.connection(&FLOW).is_some_and(|client| client.state() == State::Open);
            if tried == 199 || self.closed.is_some() || !rests && self.connected && open && tried % 10 == 0 {
                verdict = self.works();
                if verdict.is_ok() {
                    break;
                }
            }
        }
        verdict
    }

    /// Whether datagrams arrive, or there is a reason why there is no connection.
    fn works(&mut self) -> Result<(), String> {
        if let Some(reason) = self.closed {
            // Unknown peers may have taken every place, and a handshake may be given up.
            return if self.opened {
                Err(format!("the connection did not survive: {reason}"))
            } else {
                Ok(())
            };
        }
        if !self.connected {
            // Unknown peers may have taken every place; that is what the limit is for.
            return if self.server.flows().count() >= MOST_CONNECTIONS {
                Ok(())
            } else {
                Err("not connected".into())
            };
        }
        let connection = self.client.connection_mut(&FLOW).ok_or("the connection is gone")?;
        if connection.state() != State::Open {
            return Err(format!("the client is in {:?}", connection.state()));
        }
        let before = self.received;
        for _ in 0..5 {
            let connection = self.client.connection_mut(&FLOW).ok_or("the connection is gone")?;
            connection.send(self.now, Payload::dummy(10, self.now)).map_err(|error| error.to_string())?;
            self.sent += 1;
            self.quiet(TimeDelta::from_secs(5))?;
        }
        // The first may be needed to agree on numbers again.
        if self.received < before + 4 {
            return Err(format!("of five datagrams {} arrived", self.received - before));
        }
        if self.received > self.sent {
            return Err("more was received than sent".into());
        }
        Ok(())
    }

    fn quiet(&mut self, span: TimeDelta) -> Result<(), String> {
        for _ in 0..20 {
            self.settle()?;
            for _ in 0..2 * UNDER_WAY {
                self.deliver(true, 0, false);
                self.deliver(false, 0, false);
                self.settle()?;
                if self.to_server.is_empty() && self.to_client.is_empty() {
                    break;
                }
            }
            self.pass(span / 20)?;
        }
        Ok(())
    }
}

fn body(kind: PacketType, acknowledgment: SequenceNumber, script: &mut Script<'_>) -> Body {
    let said = if matches!(kind, PacketType::Request | PacketType::Reset) { script.byte() } else { 0 };
    let service = if kind == PacketType::Request { ServiceCode(said.into()) } else { SERVICE };
    Body::new(kind, acknowledgment, service, ResetReason { code: ResetCode(said), data: [0; 3] })
}

/// Any options: Mandatory, features that there are, vectors of any length.
fn options(script: &mut Script<'_>) -> Vec<DccpOption> {
    let count = script.byte() % 6;
    let mut options = Vec::new();
    for _ in 0..count {
        let choice = script.byte();
        if choice & 0xf0 == 0xf0 {
            options.push(DccpOption::Mandatory);
        }
        let feature = |script: &mut Script<'_>| {
            // The known ones, an unknown one, and CCID 3's.
            let number = match script.byte() % 13 {
                11 => 99,
                12 => 192,
                number => number,
            };
            let mut values: Vec<u8> = script.data();
            values.truncate(1 + usize::from(number) % 7);
            FeatureOption { feature: number, values }
        };
        options.push(match choice % 12 {
            0 => DccpOption::ChangeL(feature(script)),
            1 => DccpOption::ChangeR(feature(script)),
            2 => DccpOption::ConfirmL(feature(script)),
            3 => DccpOption::ConfirmR(feature(script)),
            4 => DccpOption::AckVector { nonce: choice & 64 != 0, vector: script.data().into() },
            5 => DccpOption::DataDropped(script.data()),
            6 => DccpOption::InitCookie(script.data()),
            7 => DccpOption::TimestampEcho { echo: script.word(), elapsed: script.word() },
            8 => DccpOption::ElapsedTime(script.word()),
            9 => DccpOption::Timestamp(script.word()),
            10 => DccpOption::DataChecksum(script.word()),
            _ => DccpOption::from_parts(script.byte() | 0x80, &script.data()),
        });
    }
    options
}
