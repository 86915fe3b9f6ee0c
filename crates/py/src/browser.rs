//! A call with a browser over a scenario's links.

use crate::network::{Interrupt, Listeners, attend, failure, output};
use crate::output::RunOutput;
use crate::source::Scenario;
use paceline_net::{Agreed, BrowserCall, Media, Repair, Role};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Holds a call with a browser: `role` is "send" or "receive", ours. As soon as it can come, `answer` is called with the port
/// on 127.0.0.1, user name fragment, password and SSRC that the answer says, and gives what both then agreed on: the browser's
/// fragment, the media's payload type, the identifier of the transport-wide number, and of retransmissions SSRC of the original, SSRC
/// and payload type. Gives what our end and the links say, and
/// when the run's zero was, in seconds since 1970.
#[pyfunction]
#[pyo3(signature = (scenario, *, role, answer, flow=None, progress=None))]
pub fn browser(
    py: Python<'_>,
    scenario: &Scenario,
    role: &str,
    answer: Py<PyAny>,
    flow: Option<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(RunOutput, RunOutput, Option<f64>)> {
    let role = match role {
        "send" => Role::Send,
        "receive" => Role::Receive,
        found => {
            return Err(PyValueError::new_err(format!("role: found {found:?}, expected send or receive")));
        }
    };
    let loaded = &scenario.loaded;
    let call = py.detach(|| BrowserCall::bind(loaded, flow.as_deref(), role)).map_err(failure)?;
    let port = call.address().map_err(failure)?.port();
    let ice = call.credentials().clone();
    let said = answer.call1(py, (port, ice.ufrag, ice.password, call.ssrc()))?;
    let (ufrag, payload_type, transport_wide, repair): (String, u8, u8, Option<(u32, u32, u8)>) =
        said.extract(py)?;
    let repair = repair.map(|(original, ssrc, payload_type)| Repair { original, ssrc, payload_type });
    let agreed = Agreed { payload_type, transport_wide, media: Media::Vp8, repair };
    let told = Listeners { progress, say: None };
    let both = attend(py, loaded, Interrupt::Ends, told, |_, control| call.run(&ufrag, agreed, control))?;
    let zero = both.zero.map(|nanos| nanos as f64 / 1e9);
    Ok((output(loaded, both.endpoint), output(loaded, both.link), zero))
}
