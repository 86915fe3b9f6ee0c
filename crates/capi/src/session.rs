//! The controllers that there are, by number.

use crate::failure::Failure;
use crate::{
    PACELINE_NEVER, PACELINE_UNKNOWN, PacelineController, PacelineResult, PacelineState, PacelineStatus,
};
use paceline_cc::{
    Allowance, Answers, AnyController, Controller, Pacing, PacketResult, PacketsReport, Report, Status,
    StreamId, Update,
};
use paceline_units::{Bitrate, Bytes, Ecn, Time, TimeDelta};
use std::sync::{Mutex, PoisonError, RwLock};

/// Most controllers at a time: who has more forgot to destroy them.
const MOST: usize = 1 << 20;

/// A controller and what holds of its answers.
pub(crate) struct Session {
    pub(crate) controller: AnyController,
    pub(crate) answers: Answers,
    results: Vec<PacketResult>,
}

/// A place for a controller, and the number that its present or last one has. Numbers are never given twice: the upper half
/// counts who had the place.
struct Place {
    number: PacelineController,
    session: Mutex<Option<Session>>,
}

static PLACES: RwLock<Vec<Place>> = RwLock::new(Vec::new());

fn gone(number: PacelineController) -> Failure {
    let text = format!("controller: found {number}, expected one that was created and not destroyed");
    Failure(PacelineStatus::NoController, text)
}

/// Keeps a controller, and answers its number.
pub(crate) fn keep(controller: AnyController) -> Result<PacelineController, Failure> {
    let session = Session { controller, answers: Answers::new(), results: Vec::new() };
    let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
    let is_free = |place: &mut Place| {
        let held = place.session.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.is_none() && place.number >> 32 < u64::from(u32::MAX)
    };
    if let Some(place) = places.iter_mut().position(is_free).and_then(|at| places.get_mut(at)) {
        place.number += 1 << 32;
        place.session = Mutex::new(Some(session));
        return Ok(place.number);
    }
    if places.len() >= MOST {
        let text = format!("controllers: found {MOST}, expected fewer: are they destroyed?");
        return Err(Failure(PacelineStatus::Invalid, text));
    }
    let number = 1 << 32 | places.len() as u64;
    places.push(Place { number, session: Mutex::new(Some(session)) });
    Ok(number)
}

/// Lets the controller of this number go.
pub(crate) fn drop_session(number: PacelineController) -> Result<(), Failure> {
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let place = places.get(number as u32 as usize).filter(|place| place.number == number);
    let mut held = place.ok_or_else(|| gone(number))?.session.lock().unwrap_or_else(PoisonError::into_inner);
    held.take().map(drop).ok_or_else(|| gone(number))
}

/// Hands the controller of this number to `call`. If that panics, the controller is gone.
pub(crate) fn with<R>(
    number: PacelineController,
    call: impl FnOnce(&mut Session) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let place = places.get(number as u32 as usize).filter(|place| place.number == number);
    // A lock that a panic has poisoned holds a controller in no known state.
    let mut held = place.and_then(|place| place.session.lock().ok()).ok_or_else(|| gone(number))?;
    call(held.as_mut().ok_or_else(|| gone(number))?)
}

impl Session {
    /// Tells the controller, and keeps what it answers.
    pub(crate) fn tell(&mut self, call: impl FnOnce(&mut AnyController) -> Update) {
        let update = call(&mut self.controller);
        self.answers.take(update);
    }

    /// A report on single packets.
    pub(crate) fn report(&mut self, now: Time, packets: &[PacelineResult], clock_step: TimeDelta) {
        self.results.clear();
        self.results.extend(packets.iter().map(read));
        let packets = PacketsReport { packets: &self.results, clock_step, ambiguous: false };
        let update = self.controller.on_report(now, &Report::Packets(packets));
        self.answers.take(update);
    }

    pub(crate) fn state(&self) -> PacelineState {
        let snapshot = self.controller.snapshot();
        let (allowed_bytes, allowed_packets) = match self.answers.allowance {
            Allowance::Unlimited => (PACELINE_NEVER, PACELINE_NEVER),
            Allowance::Bytes(bytes) => (bytes.as_u64(), PACELINE_NEVER),
            Allowance::Packets(packets) => (PACELINE_NEVER, packets),
        };
        let (pacing, gap) = match self.answers.pacing {
            Pacing::Off => (Bitrate::ZERO, TimeDelta::ZERO),
            Pacing::Rate(rate) | Pacing::Burst { rate, .. } => (rate, TimeDelta::ZERO),
            Pacing::Gap(gap) => (Bitrate::ZERO, gap),
        };
        let size = |bytes: Option<Bytes>| bytes.map_or(PACELINE_NEVER, Bytes::as_u64);
        let span = |span: Option<TimeDelta>| span.map_or(PACELINE_UNKNOWN, TimeDelta::as_nanos);
        PacelineState {
            allowed_bytes,
            allowed_packets,
            pacing_bps: pacing.as_bps(),
            pacing_gap_ns: gap.as_nanos().max(0) as u64,
            target_bps: snapshot.target.unwrap_or_default().as_bps(),
            window: size(snapshot.window),
            in_flight: size(snapshot.in_flight),
            srtt_ns: span(snapshot.srtt),
            queue_delay_ns: span(snapshot.queue_delay),
            next_stream: self.answers.next_stream.map_or(-1, |stream| i32::from(stream.0)),
        }
    }
}

fn read(result: &PacelineResult) -> PacketResult {
    let arrived = u64::try_from(result.arrived_ns).ok().map(Time::from_nanos);
    let status = match result.received {
        0 => Status::Missing,
        _ => Status::Received { arrived, ecn: Ecn::from_bits(result.ecn) },
    };
    PacketResult {
        stream: StreamId(result.stream),
        sequence: result.sequence,
        size: Bytes::new(result.size),
        sent: Time::from_nanos(result.sent_ns),
        status,
    }
}
