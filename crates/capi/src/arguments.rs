//! Arguments of callers in C: checked before they are read.

use crate::PacelineStatus;
use crate::failure::Failure;
use paceline_cc::AnyController;
use std::ffi::{CStr, c_char};
use std::slice;

/// The most bytes of a datagram or a packet; more is taken for a wrong size.
const LONGEST_DATAGRAM: usize = 65_535;

/// The text at `text`; `None` where it is null.
///
/// # Safety
/// `text` is null or ends with a zero.
pub(crate) unsafe fn read_text<'t>(name: &str, text: *const c_char) -> Result<Option<&'t str>, Failure> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    let wrong = |_| Failure(PacelineStatus::Invalid, format!("{name}: found other bytes, expected UTF-8"));
    text.to_str().map(Some).map_err(wrong)
}

/// The settings in the text at `text`; none where it is null.
///
/// # Safety
/// `text` is null or ends with a zero.
pub(crate) unsafe fn read_settings<'t>(text: *const c_char) -> Result<Vec<(&'t str, &'t str)>, Failure> {
    // SAFETY: the caller's promise.
    parted(unsafe { read_text("settings", text) }?.unwrap_or_default())
}

/// Kind, profile and settings of a controller.
pub(crate) type Named<'t> = (&'t str, Option<&'t str>, Vec<(&'t str, &'t str)>);

/// The kind, parameters and set-up of a controller.
///
/// # Safety
/// The texts are null or end with a zero.
pub(crate) unsafe fn read_controller<'t>(
    kind: *const c_char,
    profile: *const c_char,
    settings: *const c_char,
) -> Result<Named<'t>, Failure> {
    // SAFETY: the caller's promises.
    let (kind, profile, settings) =
        unsafe { (read_text("kind", kind)?, read_text("profile", profile)?, read_settings(settings)?) };
    Ok((kind.unwrap_or(AnyController::USUAL), profile, settings))
}

pub(crate) fn null(name: &str) -> Failure {
    Failure(PacelineStatus::NullPointer, format!("{name}: found NULL, expected a pointer"))
}

pub(crate) fn sized<T>(name: &str, size: usize) -> Result<(), Failure> {
    let expected = size_of::<T>();
    if size == expected {
        return Ok(());
    }
    let text = format!(
        "size of {name}: found {size} B, expected {expected} B: is the header of this library's version?"
    );
    Err(Failure(PacelineStatus::WrongSize, text))
}

/// Checks that a value of `size` bytes can be written to `out`.
pub(crate) fn expect_room<T>(name: &str, out: *mut T, size: usize) -> Result<(), Failure> {
    sized::<T>(name, size)?;
    if out.is_null() { Err(null(name)) } else { Ok(()) }
}

/// The value at `pointer`.
///
/// # Safety
/// `pointer` is null or points to a `T` of `size` bytes, of which every pattern of bits is a value.
pub(crate) unsafe fn read<T: Copy>(name: &str, pointer: *const T, size: usize) -> Result<T, Failure> {
    sized::<T>(name, size)?;
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, of this size, and every pattern of bits is a value of the structs of integers that come in.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Writes `value` where the caller wants it.
///
/// # Safety
/// `out` is null or has room for a `T`.
pub(crate) unsafe fn write<T>(name: &str, out: *mut T, value: T) -> Result<(), Failure> {
    if out.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null, and the caller's promise.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// The bytes of a datagram.
///
/// # Safety
/// `bytes` is null or points to `length` bytes.
pub(crate) unsafe fn read_bytes<'b>(
    name: &str,
    bytes: *const u8,
    length: usize,
) -> Result<&'b [u8], Failure> {
    if length > LONGEST_DATAGRAM {
        let text = format!("length of {name}: found {length} B, expected at most {LONGEST_DATAGRAM} B");
        return Err(Failure(PacelineStatus::WrongSize, text));
    }
    match (bytes.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(null(name)),
        // SAFETY: not null, and the caller's promise.
        _ => Ok(unsafe { slice::from_raw_parts(bytes, length) }),
    }
}

/// Checks that a datagram of up to `largest` bytes has room at `buffer`.
pub(crate) fn expect_buffer(buffer: *mut u8, capacity: usize, largest: usize) -> Result<(), Failure> {
    if capacity < largest {
        let text = format!("capacity: found {capacity} B, expected at least {largest} B");
        return Err(Failure(PacelineStatus::WrongSize, text));
    }
    if buffer.is_null() { Err(null("buffer")) } else { Ok(()) }
}

/// Copies a datagram into the caller's buffer.
///
/// # Safety
/// `buffer` has room for `capacity` bytes.
pub(crate) unsafe fn fill(buffer: *mut u8, capacity: usize, datagram: &[u8]) -> Result<(), Failure> {
    if datagram.len() > capacity {
        let text = format!("capacity: found {capacity} B, expected {} B: please report it", datagram.len());
        return Err(Failure(PacelineStatus::Failed, text));
    }
    // SAFETY: the caller's promise; the datagram is the library's own, so that they do not overlap.
    unsafe { buffer.copy_from_nonoverlapping(datagram.as_ptr(), datagram.len()) };
    Ok(())
}

/// `name = value` of each line or part between semicolons, the value perhaps in quotes.
fn parted(text: &str) -> Result<Vec<(&str, &str)>, Failure> {
    let parts =
        text.split(['\n', ';']).map(str::trim).filter(|part| !part.is_empty() && !part.starts_with('#'));
    let setting = |part| {
        let wrong =
            || Failure(PacelineStatus::Invalid, format!("settings: found {part}, expected name = value"));
        let (name, value) = str::split_once(part, '=').ok_or_else(wrong)?;
        Ok((name.trim(), value.trim().trim_matches('"')))
    };
    parts.map(setting).collect()
}
