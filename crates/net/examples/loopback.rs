//! One flow over sender, relay and receiver in three threads, on loopback:
//! `cargo run --release -p paceline-net --example loopback -- SCENARIO.toml [DATA]`. Prints each end's summary as JSON.
#![allow(clippy::print_stdout, reason = "what an example is for")]

use paceline_net::{
    Control, NetOutput, ReceiveOptions, Receiver, Relay, RelayOptions, SendOptions, Sender, parse_address,
};
use paceline_scenario::{Loaded, Loader, Origin, load};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: loopback SCENARIO.toml [DATA]")?;
    let text = std::fs::read_to_string(&file)?;
    let folder = Path::new(&file).parent().unwrap_or(Path::new(""));
    let loader = Loader::new(folder, std::env::args().nth(2).into_iter().map(Into::into).collect());
    let loaded = load(&Origin { text: &text, file: &file, sets: &[] }, &loader)?;
    for (name, output) in ["sender", "relay", "receiver"].iter().zip(run(&loaded)?) {
        println!("{name}: {:?} {:?}\n{}", output.counters, output.warnings, output.summary.to_json());
    }
    Ok(())
}

fn run(loaded: &Loaded) -> Result<[NetOutput; 3], Box<dyn Error>> {
    let anywhere = parse_address("localhost:0")?;
    let receiver = Receiver::bind(loaded, &ReceiveOptions::on(anywhere))?;
    let relay = Relay::bind(loaded, &RelayOptions::between(anywhere, receiver.address()?))?;
    let sender = Sender::bind(loaded, &SendOptions::to(relay.address()?))?;
    let stop = &AtomicBool::new(false);
    let outputs = std::thread::scope(|scope| {
        let receiver = scope.spawn(move || receiver.run(&Control { stop, progress: &|_| () }));
        let relay = scope.spawn(move || relay.run(&Control { stop, progress: &|_| () }));
        let sent = sender.run(&Control { stop, progress: &|_| () });
        if sent.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        [Ok(sent), relay.join(), receiver.join()]
    });
    let [sent, relayed, received] =
        outputs.map(|output| output.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
    Ok([sent?, relayed?, received?])
}
