//! Fuzzing without libFuzzer: pseudo-random bytes and mutated seeds, the same for the same seed, on any toolchain.
//!
//! It knows no coverage: it is a smoke test of the targets, not their replacement. An input that makes a target panic
//! is written to `artifacts/TARGET/`, as libFuzzer does, so that it can be replayed by naming the file.

#![allow(
    clippy::disallowed_methods,
    reason = "a driver: it is the one that reads the clock, not the code under test"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The longest input.
const MAX_SIZE: usize = 4096;

/// Options of the command line.
struct Options {
    runs: u64,
    seconds: Option<u64>,
    seed: u64,
    files: Vec<PathBuf>,
}

/// Runs `body` on the files named, or on seeds and inputs made from them: `--runs N` (default 200000), `--seconds N`,
/// `--seed N`. Fails at the first panic.
pub fn main(name: &str, body: fn(&[u8])) -> ExitCode {
    let options = match options() {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{name}: {message}");
            return ExitCode::from(2);
        }
    };
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let result = if options.files.is_empty() {
        let seeds = inputs_in(&[home.join("seeds").join(name), home.join("corpus").join(name)]);
        explore(body, &seeds, &options)
    } else {
        replay(body, &options.files)
    };
    match result {
        Ok(runs) => {
            println!("{name}: {runs} inputs, no panic");
            ExitCode::SUCCESS
        }
        Err(input) => {
            let at = home.join("artifacts").join(name).join(format!("crash-{:016x}", hash(&input)));
            match save(&at, &input) {
                Ok(()) => eprintln!("{name}: panic on {} bytes, kept in {}", input.len(), at.display()),
                Err(error) => eprintln!("{name}: panic on {input:02x?}, not kept: {error}"),
            }
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options { runs: 200_000, seconds: None, seed: 1, files: vec![] };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || {
            let value = args.next().unwrap_or_default();
            value.parse::<u64>().map_err(|_| format!("{arg}: found {value:?}, expected a whole number"))
        };
        match arg.as_str() {
            "--runs" => options.runs = number()?,
            "--seconds" => options.seconds = Some(number()?),
            "--seed" => options.seed = number()?,
            other if other.starts_with('-') => {
                return Err(format!("found {other}, expected --runs, --seconds, --seed or files"));
            }
            file => options.files.push(file.into()),
        }
    }
    Ok(options)
}

/// The files of the folders, by name; a folder that does not exist has none.
fn inputs_in(folders: &[PathBuf]) -> Vec<Vec<u8>> {
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

fn replay(body: fn(&[u8]), files: &[PathBuf]) -> Result<u64, Vec<u8>> {
    for file in files {
        match std::fs::read(file) {
            Ok(input) => run(body, &input)?,
            Err(error) => eprintln!("{}: {error}", file.display()),
        }
    }
    Ok(files.len() as u64)
}

fn explore(body: fn(&[u8]), seeds: &[Vec<u8>], options: &Options) -> Result<u64, Vec<u8>> {
    for seed in seeds {
        run(body, seed)?;
    }
    let mut random = Random(options.seed);
    let until = options.seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut runs = 0;
    let mut input = Vec::with_capacity(MAX_SIZE);
    loop {
        let done = match until {
            Some(until) => runs % 256 == 0 && Instant::now() >= until,
            None => runs >= options.runs,
        };
        if done {
            return Ok(runs + seeds.len() as u64);
        }
        next_input(&mut input, seeds, &mut random);
        run(body, &input)?;
        runs += 1;
    }
}

fn run(body: fn(&[u8]), input: &[u8]) -> Result<(), Vec<u8>> {
    catch_unwind(AssertUnwindSafe(|| body(input))).map_err(|_| input.to_vec())
}

/// One in eight is noise; the others are a seed with one to eight mutations.
fn next_input(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    input.clear();
    if seeds.is_empty() || random.below(8) == 0 {
        let size = random.below(200);
        input.extend((0..size).map(|_| random.byte()));
        return;
    }
    input.extend(&seeds[random.below(seeds.len())]);
    for _ in 0..=random.below(8) {
        mutate(input, seeds, random);
    }
    input.truncate(MAX_SIZE);
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    const BOUNDARIES: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'\n', b','];
    let at = random.below(input.len().max(1));
    match (random.below(7), input.get_mut(at)) {
        (0, Some(byte)) => *byte ^= 1 << random.below(8),
        (1, Some(byte)) => *byte = random.byte(),
        (2, Some(byte)) => *byte = BOUNDARIES[random.below(BOUNDARIES.len())],
        (3, Some(_)) => input.truncate(at),
        (4, Some(_)) => {
            let end = (at + 1 + random.below(16)).min(input.len());
            input.drain(at..end);
        }
        (5, Some(_)) => {
            let end = (at + 1 + random.below(64)).min(input.len());
            input.extend_from_within(at..end);
        }
        _ => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len().max(1)).min(other.len());
            input.truncate(at);
            input.extend(&other[from..]);
        }
    }
}

fn save(at: &Path, input: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = at.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(at, input)
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// SplitMix64: enough to pick mutations by.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }
}
