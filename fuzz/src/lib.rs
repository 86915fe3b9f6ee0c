//! The common parts of the fuzz targets: [`target!`] makes a program of a target's body, and [`smoke`] drives it where there is
//! no libFuzzer.

pub mod smoke;

/// Makes a fuzz target of a function that takes any `&[u8]` and panics on what must not be.
///
/// Under cargo-fuzz (`cfg(fuzzing)`) libFuzzer calls it; otherwise the program is the smoke driver for it. The file
/// starts with `#![cfg_attr(fuzzing, no_main)]`.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        ::libfuzzer_sys::fuzz_target!(|data: &[u8]| { $name(data) });

        #[cfg(not(fuzzing))]
        fn main() -> ::std::process::ExitCode {
            $crate::smoke::main(stringify!($name), $name)
        }
    };
}
