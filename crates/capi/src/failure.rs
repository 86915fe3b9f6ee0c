//! Errors: a code for the program, and a text for people, kept for each thread.

use crate::PacelineStatus;
use paceline_units::param::ParamError;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// A call that failed: the code, and what was found and expected.
pub(crate) struct Failure(pub(crate) PacelineStatus, pub(crate) String);

impl From<ParamError> for Failure {
    fn from(error: ParamError) -> Failure {
        Failure(PacelineStatus::Invalid, error.to_string())
    }
}

/// Runs a call: keeps the text of its error, and lets no panic out.
pub(crate) fn answer(call: impl FnOnce() -> Result<(), Failure>) -> PacelineStatus {
    let failed =
        |_| Err(Failure(PacelineStatus::Failed, "a failure of the library; please report it".into()));
    match catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(failed) {
        Ok(()) => PacelineStatus::Ok,
        Err(Failure(status, text)) => {
            // A text with a zero inside cannot be shown whole.
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            LAST.with_borrow_mut(|last| *last = Some(text));
            status
        }
    }
}

/// The text of this thread's last error; valid until its next one.
pub(crate) fn last() -> *const c_char {
    LAST.with_borrow(|last| last.as_ref().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn a_panic_ends_at_the_boundary() {
        assert_eq!(answer(|| panic!("inside")), PacelineStatus::Failed);
        // SAFETY: a text of this thread that ends with a zero.
        let text = unsafe { CStr::from_ptr(last()) };
        assert_eq!(text.to_str(), Ok("a failure of the library; please report it"));
    }
}
