//! Objects that callers hold, by number: controllers, receiver halves, groups, senders and receivers.

use crate::failure::Failure;
use crate::{PacelineHandle, PacelineStatus};
use std::any::Any;
use std::sync::{Mutex, PoisonError, RwLock};

/// The most handles at a time: who has more forgot to destroy them.
const MOST: usize = 1 << 20;

/// A kind of what callers hold.
pub(crate) trait Kept: Any + Send {
    /// Its name in messages.
    const NAME: &'static str;
}

/// The object that a number stands for, and the name of its kind.
struct Held {
    name: &'static str,
    own: Box<dyn Any + Send>,
}

/// A place for something held, and the number that its present or last one has. Numbers are never given twice: the upper half
/// counts who had the place.
struct Place {
    number: PacelineHandle,
    held: Mutex<Option<Held>>,
}

static PLACES: RwLock<Vec<Place>> = RwLock::new(Vec::new());

fn gone(name: &str, number: PacelineHandle) -> Failure {
    let text = format!("{name}: found {number}, expected one that was created and not destroyed");
    Failure(PacelineStatus::NoHandle, text)
}

/// Keeps something, and answers its number.
pub(crate) fn keep<K: Kept>(own: K) -> Result<PacelineHandle, Failure> {
    let held = Mutex::new(Some(Held { name: K::NAME, own: Box::new(own) }));
    let mut places = PLACES.write().unwrap_or_else(PoisonError::into_inner);
    let is_free = |place: &mut Place| {
        let held = place.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        held.is_none() && place.number >> 32 < u64::from(u32::MAX)
    };
    if let Some(place) = places.iter_mut().position(is_free).and_then(|at| places.get_mut(at)) {
        place.number += 1 << 32;
        place.held = held;
        return Ok(place.number);
    }
    if places.len() >= MOST {
        let text = format!("handles: found {MOST}, expected fewer: are they destroyed?");
        return Err(Failure(PacelineStatus::Invalid, text));
    }
    let number = 1 << 32 | places.len() as u64;
    places.push(Place { number, held });
    Ok(number)
}

/// Lets what has this number go.
pub(crate) fn destroy(number: PacelineHandle) -> Result<(), Failure> {
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let place = places.get(number as u32 as usize).filter(|place| place.number == number);
    let place = place.ok_or_else(|| gone("handle", number))?;
    let mut held = place.held.lock().unwrap_or_else(PoisonError::into_inner);
    held.take().map(drop).ok_or_else(|| gone("handle", number))
}

/// Hands what has this number to `call`. If that panics, it is gone.
pub(crate) fn with<K: Kept, R>(
    number: PacelineHandle,
    call: impl FnOnce(&mut K) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let places = PLACES.read().unwrap_or_else(PoisonError::into_inner);
    let place = places.get(number as u32 as usize).filter(|place| place.number == number);
    // A lock that a panic has poisoned holds something in no known state.
    let mut held = place.and_then(|place| place.held.lock().ok()).ok_or_else(|| gone(K::NAME, number))?;
    let held = held.as_mut().ok_or_else(|| gone(K::NAME, number))?;
    let other = held.name;
    let own = held.own.downcast_mut().ok_or_else(|| {
        let text = format!("{}: found {number}, which is a {other}, expected a {}", K::NAME, K::NAME);
        Failure(PacelineStatus::NoHandle, text)
    })?;
    call(own)
}
