//! Senders, receivers and streams by names alone, for programs whose configuration is text: each setting is the name of a parameter
//! and its value, such as `("rtx_keep", "500ms")`.

use crate::receiver::{MediaReceiver, MediaReceiverConfig};
use crate::sender::{MediaSender, MediaStreamConfig, RepairConfig};
use paceline_cc::{
    AnyController, CeResponse, Controller, ControllerParams, FlowSetup, Limits, Steers, StreamId, Verb,
};
use paceline_ends::SendingEnd;
use paceline_rtp::rtcp::{IncomingRepair, IncomingStream, NtpClock, RtcpConfig};
use paceline_rtp::{
    CircuitBreakers, EcnChecks, FeedbackConfig, RTP_HEADER, ReceiverClock, RtpIdentity, RtpSender,
    SenderConfig,
};
use paceline_units::param::{Kind, ParamError, ParamSet, Parameter, Spec, Value, unknown};
use paceline_units::{Bitrate, Bytes, EcnMode, RandomStream, Time, TimeDelta, params};
use paceline_wire::{FeedbackFormat, rtp};

/// A setting: the name of a parameter and its value.
pub type Setting<'t> = (&'t str, &'t str);

/// The page with all settings.
const SETTINGS: &str = "docs/endpoint-settings.md";

params! {
    /// How a participant takes part in RTCP, by names.
    pub struct RtcpSettings {
        seed: u64 = 1, "RFC 3550 8.1", "The seed of all random draws: numbers that are not given, and the times of reports. A program gives what its system's source of randomness says";
        cname: Option<CanonicalName> = None, else "drawn by the seed, as RFC 7022 asks", "RFC 3550 6.5.1", "Canonical name, the same for all streams of a participant";
        bandwidth("session_bandwidth"): Bitrate = Bitrate::from_mbps(1), in 1000.0, 1e12, "RFC 3550 6.2", "Bandwidth of the session, of which regular reports take 5 %";
        reduced_minimum: bool = true, "RFC 3550 6.2", "Whether the least interval between regular reports is 360 s over the bandwidth in kbit/s, and not 5 s";
        reduced_size: bool = false, "RFC 5506", "Whether feedback goes without a regular report before it, as both sides agreed on";
        ntp_zero: u64 = 0, "RFC 3550 4", "NTP time of the clock's zero, 32 bits of seconds and 32 of their fraction; who knows no wall clock leaves it";
    }
}

params! {
    /// A sender of ready-made media, by names. Its controller and its flow have names beside these.
    pub struct SenderSettings {
        ecn: EcnMode = EcnMode::Off, "RFC 3168, RFC 9331", "ECN field of packets: off, classic is ECT(0), l4s is ECT(1)";
        ecn_check: EcnChecks = EcnChecks::Probe, "RFC 6679 7.2, 7.4", "With ecn, how the path is checked for it: off, monitor or probe";
        format: FeedbackFormat = FeedbackFormat::Rfc8888, "RFC 8888", "Format of the reports on packets that come back";
        transport_element: u16 = 5, in 1.0, 14.0, "RFC 8285 4.2", "Identifier of the header extension's element with the transport-wide number, which packets carry with format = twcc";
        first_number: Option<u16> = None, else "each stream's drawn by the seed", "RFC 3550 5.1", "First sequence number of every stream";
        repair: bool = false, "RFC 4588", "Whether streams may send lost packets again: all packets are 2 bytes shorter";
        discard_age: TimeDelta = RtpIdentity::default().discard_age, in 1e-3, 3600.0, "libwebrtc pacing_controller 2024, whose queue is to be empty within 2 s", "The longest that a packet waits to be sent: older ones come back as discarded, and a key frame is asked for";
        breakers: CircuitBreakers = CircuitBreakers::Timeouts, "RFC 8083", "Which circuit breakers end the call";
        lateness: TimeDelta = TimeDelta::from_millis(2), in 0.0, 1.0, "ours", "How late the program may wake without the pacing rate going down";
    }
    /// Its part in RTCP.
    with rtcp: RtcpSettings;
}

params! {
    /// A receiver of ready-made media, by names.
    pub struct ReceiverSettings {
        ssrc: Option<u32> = None, else "drawn by the seed", "RFC 3550 5.1", "SSRC of the receiver";
        transport_element: u16 = 5, in 1.0, 14.0, "RFC 8285 4.2", "Identifier of the header extension's element with the transport-wide number, of which reports tell with format = twcc";
        tell_ecn: bool = false, "RFC 6679 5.2", "Whether regular reports have an ECN summary, as both sides agreed on";
    }
    /// When and how it reports on packets.
    with feedback: FeedbackConfig;
    /// Its part in RTCP.
    with rtcp: RtcpSettings;
}

params! {
    /// A stream of a sender, by names.
    pub struct StreamSettings {
        ssrc: Option<u32> = None, as Required, else "there is none", "RFC 3550 5.1", "SSRC of the stream";
        priority: f64 = 1.0, in *FlowSetup::PRIORITIES.start(), *FlowSetup::PRIORITIES.end(), "RFC 8298 4.1.3", "Weight of the stream's share";
        target_start: Bitrate = Bitrate::from_kbps(300), in 0.0, 1e12, "ours", "The encoder's target before the controller names one";
        target_min: Bitrate = Bitrate::ZERO, in 0.0, 1e12, "ours", "Least target of the stream; 0: the controller's";
        target_max: Option<Bitrate> = None, else "no limit", in 0.0, 1e12, "ours", "Largest target of the stream";
        payload_type: u16 = 96, in 0.0, 127.0, "RFC 3551", "Payload type of the media, which padding has as well";
        clock_rate: u32 = 90_000, in 1.0, 1e9, "RFC 3551", "Ticks of the RTP timestamp in a second";
        most_waiting: u32 = 8192, in 1.0, 65_536.0, "ours", "The most packets that wait to be sent";
        rtx_ssrc: Option<u32> = None, else "lost packets are not sent again", "RFC 4588 4", "SSRC of retransmissions, of a sender with repair = true";
        rtx_payload_type: u16 = 97, in 0.0, 127.0, "RFC 4588 8.1", "Payload type of retransmissions";
        rtx_keep: TimeDelta = TimeDelta::from_secs(1), in 0.0, 60.0, "RFC 4588 8.1", "How long a packet is kept after it left";
        rtx_keep_size: Bytes = Bytes::new(1_000_000), in 0.0, 1e9, "ours", "The most bytes that are kept";
        rtx_share: f64 = 0.25, in 0.0, 10.0, "ours", "Bytes of retransmissions per byte of media, at most";
    }
    ordered target_min <= target_max;
    check sound_types;
}

params! {
    /// A stream that a receiver expects, by names.
    pub struct IncomingSettings {
        ssrc: Option<u32> = None, as Required, else "there is none", "RFC 3550 5.1", "SSRC of the stream";
        clock_rate: u32 = 90_000, in 1.0, 1e9, "RFC 3551", "Ticks of the RTP timestamp in a second";
        payload_type: u16 = 96, in 0.0, 127.0, "RFC 4588 8.1", "Payload type of what retransmissions restore";
        rtx_ssrc: Option<u32> = None, else "lost packets are not asked for again", "RFC 4588 4", "SSRC of retransmissions";
        rtx_payload_type: u16 = 97, in 0.0, 127.0, "RFC 4588 8.1", "Payload type of retransmissions";
        rtx_deadline: TimeDelta = TimeDelta::from_millis(500), in 0.0, 60.0, "ours", "For so long after it was missed a packet is of use";
    }
}

/// A canonical name (RFC 3550 section 6.5.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CanonicalName(pub String);

impl Parameter for CanonicalName {
    const KIND: Kind = Kind::Text("name", "a name of 1 to 255 bytes");

    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.0.clone()))
    }

    fn from_value(value: Value) -> Option<CanonicalName> {
        match value {
            Value::Text(name) if (1..256).contains(&name.len()) => Some(CanonicalName(name)),
            _ => None,
        }
    }
}

/// Neither payload type reads as RTCP where the marker is set (RFC 5761 section 4).
fn sound_types(stream: &StreamSettings) -> Result<(), ParamError> {
    for (name, found) in
        [("payload_type", stream.payload_type), ("rtx_payload_type", stream.rtx_payload_type)]
    {
        rtp::expect_payload_type(found as u8)
            .map_err(|_| ParamError::new(name, found, "one from 0 to 63 or 96 to 127"))?;
    }
    Ok(())
}

fn spec(specs: &'static [Spec], name: &str) -> Option<&'static Spec> {
    specs.iter().find(|spec| spec.name == name)
}

/// The parameters that these settings say.
fn read<'t, S: ParamSet + Default>(settings: impl IntoIterator<Item = Setting<'t>>) -> Result<S, ParamError> {
    let mut read = S::default();
    for (name, text) in settings {
        let specs = read.specs();
        read.set(name, spec(specs, name).ok_or_else(|| unknown(name, specs, Some(SETTINGS)))?.read(text)?)?;
    }
    read.check()?;
    Ok(read)
}

impl RtcpSettings {
    fn draws(&self, name: &str) -> RandomStream {
        RandomStream::new(self.seed, name)
    }

    fn config(&self, participant: &str) -> RtcpConfig {
        let drawn = || {
            let mut draws = self.draws(&format!("{participant}.cname"));
            format!("{:016x}{:016x}", draws.next_u64(), draws.next_u64())
        };
        RtcpConfig {
            cname: self.cname.as_ref().map_or_else(drawn, |name| name.0.clone()),
            clock: NtpClock::starting_at(self.ntp_zero),
            bandwidth: self.bandwidth,
            reduced_minimum: self.reduced_minimum,
            reduced_size: self.reduced_size,
            seed: self.seed,
        }
    }
}

/// The settings of a sender, apart from those of its controller and flow.
fn part<'t>(
    kind: &str,
    settings: impl IntoIterator<Item = Setting<'t>>,
) -> Result<(SenderSettings, Vec<Setting<'t>>), ParamError> {
    let usual = ControllerParams::of(kind);
    let (mut own, mut others) = (SenderSettings::default(), Vec::new());
    for (name, text) in settings {
        if let Some(spec) = spec(SenderSettings::SPECS, name) {
            let value = spec.read(text).map_err(|error| match EcnMode::of_codepoint(text) {
                Some(meant) if name == "ecn" => {
                    let expected = format!("{}; did you mean {}?", error.expected, meant.name());
                    ParamError::new(name, text, expected)
                }
                _ => error,
            });
            own.set(name, value?)?;
            continue;
        }
        let controllers = usual.as_ref().map_or(&[][..], ParamSet::specs);
        let known = || controllers.iter().chain(FlowSetup::SPECS);
        if usual.is_some() && !known().any(|spec| spec.name == name) {
            let listed = format!("{SETTINGS} or `paceline list {kind}`");
            return Err(unknown(name, SenderSettings::SPECS.iter().chain(known()), Some(&listed)));
        }
        if name == "priorities" {
            return Err(ParamError::new(name, text, "none: a stream's priority is said when it is added"));
        }
        others.push((name, text));
    }
    if own.ecn != EcnMode::Off && !own.format.tells_ecn() {
        let text = format!("off, since reports in the format {} tell of no marks", own.format.name());
        return Err(ParamError::new("ecn", own.ecn.name(), text));
    }
    if own.ecn == EcnMode::L4s && !others.iter().any(|(name, _)| *name == "l4s") {
        others.push(("l4s", "true"));
    }
    own.check()?;
    Ok((own, others))
}

/// Fails if controllers of this kind do not steer datagrams on whose packets a receiver reports, ask for what no sender of media
/// does, or ignore the marks that packets with this ECN field may get.
fn expect_fit(kind: &str, controller: &AnyController, ecn: EcnMode) -> Result<(), ParamError> {
    let steers = ControllerParams::of(kind).map(|usual| usual.steers());
    let of_media = matches!(steers, Some(Steers::Media | Steers::Datagrams | Steers::Unreported));
    let executed = |verb: &Verb| RtpSender::<AnyController>::EXECUTES.contains(verb);
    if !of_media || AnyController::needs_receiver_half(kind) || !controller.verbs().iter().all(executed) {
        return Err(ParamError::new(
            "controller",
            kind,
            "one of media that goes by reports on packets alone",
        ));
    }
    if ecn != EcnMode::Off && controller.ce_response() == CeResponse::Ignored {
        let expected = format!("off, since the controller {kind} ignores marks (CE)");
        return Err(ParamError::new("ecn", ecn.name(), expected));
    }
    Ok(())
}

impl<P: AsRef<[u8]> + Clone> MediaSender<AnyController, P> {
    /// A sender without streams under a controller of this kind and profile. Settings are those of [`SenderSettings`], of the
    /// controller and of its flow: `("target_bitrate_max", "5Mbps")`, `("largest_packet", "1212B")`, which counts the RTP header.
    ///
    /// # Errors
    /// If there is no such kind, profile or parameter, a value is none or out of range, or two contradict each other.
    pub fn configured<'t>(
        kind: &str,
        profile: Option<&str>,
        settings: impl IntoIterator<Item = Setting<'t>>,
    ) -> Result<MediaSender<AnyController, P>, ParamError> {
        let (own, others) = part(kind, settings)?;
        let controller = AnyController::configured(kind, profile, others.iter().copied())?;
        expect_fit(kind, &controller, own.ecn)?;
        let mut setup = FlowSetup::default();
        for (name, text) in others.iter().filter(|(name, _)| *name == "largest_packet") {
            setup.set(
                name,
                spec(FlowSetup::SPECS, name).ok_or_else(|| unknown(name, &[], None))?.read(text)?,
            )?;
        }
        if setup.largest_packet < LEAST_PACKET {
            let expected = format!("at least {} for RTP", LEAST_PACKET.as_u64());
            return Err(ParamError::new("largest_packet", Value::Size(setup.largest_packet), expected));
        }
        let mut sender = MediaSender::new(
            controller,
            &SenderConfig {
                ecn: own.ecn.codepoint(),
                clock_step: ReceiverClock::of(own.format).step(),
                forgiven_lateness: own.lateness,
                discard_age: own.discard_age,
                ..SenderConfig::new(setup.largest_packet - RTP_HEADER)
            },
        );
        match own.first_number {
            Some(first) => sender.number_from(first),
            None => sender.draw_numbers(own.rtcp.draws("rtp.first")),
        }
        if own.format.is_transport_wide() {
            let drawn = own.rtcp.draws("rtp.transport").next_u64();
            sender.number_transport_wide(drawn as u16, own.transport_element as u8);
        }
        sender.use_rtcp(own.rtcp.config("sender"), own.format);
        if own.repair {
            sender.use_repair();
        }
        sender.guard(own.breakers);
        sender.check_ecn(own.ecn_check);
        Ok(sender)
    }

    /// A stream joins, with the settings of [`StreamSettings`].
    ///
    /// # Errors
    /// If there is no such parameter, a value is none or out of range, an SSRC is taken, or there is no room.
    pub fn add_configured<'t>(
        &mut self,
        now: Time,
        settings: impl IntoIterator<Item = Setting<'t>>,
    ) -> Result<StreamId, ParamError> {
        let read: StreamSettings = read(settings)?;
        let ssrc = read.ssrc.ok_or_else(|| ParamError::new("ssrc", "none", "the SSRC of the stream"))?;
        let config = MediaStreamConfig {
            ssrc,
            priority: read.priority,
            target_start: read.target_start,
            payload_type: read.payload_type as u8,
            clock_rate: read.clock_rate,
            most_waiting: read.most_waiting as usize,
        };
        let id = self.add_stream(now, &config)?;
        let max = read.target_max.unwrap_or(Bitrate::MAX);
        let limited = self.set_limits(now, &Limits { stream: id, min: read.target_min, max });
        let repaired = limited.and_then(|()| match read.rtx_ssrc {
            None => Ok(()),
            Some(ssrc) => self.repair(now, id, &read.repair(ssrc)).map(drop),
        });
        repaired.map(|()| id).map_err(|error| {
            // It was there for no time.
            let _ = self.remove_stream(now, id);
            error.into()
        })
    }
}

/// The least `largest_packet`: header, number for the transport, and a little payload.
const LEAST_PACKET: Bytes = Bytes::new(64);

impl StreamSettings {
    fn repair(&self, ssrc: u32) -> RepairConfig {
        RepairConfig {
            ssrc,
            payload_type: self.rtx_payload_type as u8,
            original: self.payload_type as u8,
            keep: self.rtx_keep,
            keep_bytes: self.rtx_keep_size,
            share: self.rtx_share,
        }
    }
}

impl MediaReceiver {
    /// A receiver that expects no stream yet, with the settings of [`ReceiverSettings`].
    ///
    /// # Errors
    /// If there is no such parameter, a value is none or out of range, or two contradict each other.
    pub fn configured<'t>(
        settings: impl IntoIterator<Item = Setting<'t>>,
    ) -> Result<MediaReceiver, ParamError> {
        let settings: Vec<_> = settings.into_iter().collect();
        let ReceiverSettings { ssrc, transport_element, tell_ecn, mut feedback, rtcp } =
            read(settings.iter().copied())?;
        if !settings.iter().any(|(name, _)| *name == "clock") {
            feedback.clock = ReceiverClock::of(feedback.format);
        }
        let drawn = rtcp.draws("receiver.ssrc").next_u64() as u32;
        let mut receiver = MediaReceiver::new(MediaReceiverConfig {
            ssrc: ssrc.unwrap_or(drawn),
            rtcp: rtcp.config("receiver"),
            feedback,
            element: transport_element as u8,
        });
        if tell_ecn {
            receiver.tell_ecn();
        }
        Ok(receiver)
    }

    /// A stream is expected, with the settings of [`IncomingSettings`]. Answers its SSRC.
    ///
    /// # Errors
    /// If there is no such parameter, a value is none or out of range, an SSRC is taken, or there is no room.
    pub fn add_configured<'t>(
        &mut self,
        settings: impl IntoIterator<Item = Setting<'t>>,
    ) -> Result<u32, ParamError> {
        let read: IncomingSettings = read(settings)?;
        let ssrc = read.ssrc.ok_or_else(|| ParamError::new("ssrc", "none", "the SSRC of the stream"))?;
        let repair = read.rtx_ssrc.map(|ssrc| IncomingRepair {
            ssrc,
            payload_type: read.rtx_payload_type as u8,
            original: read.payload_type as u8,
            deadline: read.rtx_deadline,
        });
        if self.add_stream(IncomingStream { ssrc, clock_rate: read.clock_rate, repair }) {
            return Ok(ssrc);
        }
        let expected = "SSRCs that no other stream has, of at most 64 streams with retransmissions";
        Err(ParamError::new("ssrc", ssrc, expected))
    }
}
