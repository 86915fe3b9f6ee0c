//! Every controller under each of its profiles, and which of them are excused from what all others must do.

use paceline_cc::ControllerParams;

/// Reasons to be excused in more than one suite.
pub(crate) const CONSTANT: &str =
    "its parameters do not adapt to the path, which is what URCP's authors show";
pub(crate) const PACE: &str =
    "it hears of the losses for a second, and paces what waits at 2.5 times its target, as libwebrtc does";
pub(crate) const REFERENCE: &str = "the profile keeps what the papers measured: see Params::mended";
pub(crate) const COUNTS_LONG: &str =
    "it counts what arrives over a second, and hears of it a round trip later";

/// RMAX is the application's: of NADA, the RFC's 1.5 Mbit/s would be all that a flow asks of any path.
#[allow(dead_code, reason = "suites that call the classes write no scenarios")]
pub(crate) const RMAX: &str = ", target_bitrate_max = \"12Mbps\"";

/// A controller under a profile.
pub(crate) struct Member {
    /// Kind and profile.
    pub(crate) name: String,
    pub(crate) profile: &'static str,
    pub(crate) params: ControllerParams,
}

impl Member {
    /// The controller as a scenario writes it.
    #[allow(dead_code, reason = "suites that call the classes write no scenarios")]
    pub(crate) fn controller(&self) -> String {
        let most = if self.params.kind() == "nada" { RMAX } else { "" };
        format!("{{ kind = \"{}\", profile = \"{}\"{most} }}", self.params.kind(), self.profile)
    }
}

/// Every controller under each of its profiles.
pub(crate) fn all() -> impl Iterator<Item = Member> {
    ControllerParams::all().map(|(params, profile)| Member {
        name: format!("{} {profile}", params.kind()),
        profile,
        params,
    })
}

/// Without SCReAM's tuned sets, which are `reference-2022` with other values.
pub(crate) fn untuned() -> impl Iterator<Item = Member> {
    all().filter(|member| !member.name.starts_with("scream scream-5g"))
}

/// The faults, each with the name of its member, of members that are not excused, and a line for each member that is excused and
/// has none.
pub(crate) fn wrong<'e>(
    faults: &[(String, String)],
    excused: impl Iterator<Item = (&'e str, &'e str)>,
) -> Vec<String> {
    let excused: Vec<_> = excused.collect();
    let is_excused = |name: &str| excused.iter().any(|(excused, _)| *excused == name);
    let unexpected = faults.iter().filter(|(name, _)| !is_excused(name));
    let mut wrong: Vec<_> = unexpected.map(|(name, fault)| format!("{name}: {fault}")).collect();
    let idle = excused.iter().filter(|(name, _)| faults.iter().all(|(found, _)| found != name));
    wrong.extend(idle.map(|(name, why)| format!("{name} is excused ({why}), and has no fault")));
    wrong
}

/// The same in one row of a suite whose excuses name member, row and reason.
pub(crate) fn wrong_in(
    row: &str,
    faults: &[(String, String)],
    excused: &[(&str, &str, &str)],
) -> Vec<String> {
    let excused = excused.iter().filter(|(_, of, _)| *of == row);
    wrong(faults, excused.map(|(member, _, why)| (*member, *why)))
}
