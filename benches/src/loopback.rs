//! The load that real sockets carry: a sender and a receiver in a thread each, on loopback, one core per side.
//!
//! Throughput is the wall's and so depends on who else uses the machine; beside it stands what each side needs of a core.

use paceline_net::{Control, NetOutput, ReceiveOptions, Receiver, SendOptions, Sender, parse_address};
use paceline_scenario::{Loaded, Loader, Origin, load};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::AtomicBool;

/// A flow that fills what it gets, for 3 s.
fn bulk(flow: &str) -> String {
    format!(
        "duration = \"3s\"\nwarmup = \"500ms\"\nsample = \"500ms\"\n[links.l]\nrate = \"10Gbps\"\n\
         queue = {{ packets = 1000 }}\n[flows.bulk]\n{flow}\nsource = {{ kind = \"bulk\" }}\npath = [\"l\"]\n\
         packet_size = \"1472B\"\n"
    )
}

/// Prints one line for each transport.
pub fn print() {
    println!(
        "\n{:<18}{:>12}{:>12}{:>12}{:>12}   loopback, one core per side; aim: 1000 Mbit/s",
        "flow", "Mbit/s", "packets/s", "sender ns", "receiver ns"
    );
    for (name, flow) in [
        ("dccp ccid2", "transport = \"dccp\"\ncontroller = \"ccid2\""),
        ("dccp ccid3", "transport = \"dccp\"\ncontroller = \"ccid3\""),
        ("rtp fixed", "transport = \"rtp\"\ncontroller = { kind = \"fixed\", rate = \"1Gbps\" }"),
    ] {
        match run(&bulk(flow)) {
            Ok(carried) => carried.print(name),
            Err(error) => println!("{name:<18}not measured: {error}"),
        }
    }
}

/// Packets and bytes of one flow.
struct Carried {
    mbps: f64,
    per_second: f64,
    /// Processor time of a packet, in nanoseconds.
    sender: f64,
    receiver: f64,
}

impl Carried {
    fn print(&self, name: &str) {
        println!(
            "{name:<18}{:>12.0}{:>12.0}{:>12.0}{:>12.0}",
            self.mbps, self.per_second, self.sender, self.receiver
        );
    }
}

fn run(text: &str) -> Result<Carried, Box<dyn std::error::Error>> {
    let loaded: Loaded = load(&Origin { text, file: "loopback", sets: &[] }, &Loader::default())?;
    let anywhere = parse_address("localhost:0")?;
    let receiver = Receiver::bind(&loaded, &ReceiveOptions::on(anywhere))?;
    let sender = Sender::bind(&loaded, &SendOptions::to(receiver.address()?))?;
    let stop = &AtomicBool::new(false);
    let (sent, received) = std::thread::scope(|scope| {
        let receiver = scope.spawn(move || timed(|control| receiver.run(control), stop));
        let sent = timed(|control| sender.run(control), stop);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        (sent, receiver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let ((sent, sender), (received, receiver)) = (sent?, received?);
    let figures = &received.summary.flows["bulk"];
    let packets = |output: &NetOutput| output.summary.flows["bulk"].packets_sent.unwrap_or(1).max(1) as f64;
    let seconds = received.summary.duration_s - 0.5;
    Ok(Carried {
        mbps: figures.throughput_mbps.unwrap_or(0.0),
        per_second: figures.packets_received.unwrap_or(0) as f64 / seconds,
        // The processor is counted from the first packet on, packets from the warm-up on.
        sender: sender * 1e9 / (packets(&sent) * received.summary.duration_s / seconds),
        receiver: receiver * 1e9 / (packets(&received) * received.summary.duration_s / seconds),
    })
}

type Timed = Result<(NetOutput, f64), paceline_net::NetError>;

/// Runs one end, and how long it had a processor, in seconds.
fn timed(
    end: impl FnOnce(&Control<'_>) -> Result<NetOutput, paceline_net::NetError>,
    stop: &AtomicBool,
) -> Timed {
    let before = thread_time();
    let output = end(&Control { stop, progress: &|_| () })?;
    Ok((output, thread_time() - before))
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn thread_time() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
