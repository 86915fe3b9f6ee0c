//! Tells the crate whether it is compiled with a profile, of which rustc itself sets no `cfg`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(profile_guided)");
    // Cargo's own list of what it hands to rustc: what is said cannot differ from what is done.
    #[expect(clippy::disallowed_methods, reason = "a build script's settings are its environment")]
    let flags = std::env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if flags.contains("profile-use=") {
        println!("cargo::rustc-cfg=profile_guided");
    }
}
