//! The flow state exchange and what may be at the other end of its socket: other exchanges, files, processes that flood, speak
//! nonsense, or die; and how long an honest one waits for an answer meanwhile.

use crate::folder::Folder;
use crate::lateness::judge_on_time;
use paceline_cc::{Assigned, CouplingParams, Priority};
use paceline_ends::CoupledEnds;
use paceline_net::{ExchangeClient, ExchangeCounters, ExchangeLimits, ExchangeServer};
use paceline_units::{Bitrate, Time, TimeDelta};
use paceline_wire::exchange::{FiveTuple, GroupKey, Refusal, Reply, Request, decode_reply, encode_request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketType, bind, connect, recv, send, socket,
};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs `work` beside an exchange at `path`, and answers what it made and what the exchange counted.
fn beside<T>(path: &Path, work: impl FnOnce() -> T) -> (T, ExchangeCounters) {
    let stop = &AtomicBool::new(false);
    let server = ExchangeServer::bind(path, &ExchangeLimits::default()).expect("a free path");
    std::thread::scope(|scope| {
        let server = scope.spawn(move || server.run(stop, &|_| ()).expect("served"));
        // Whatever `work` finds wrong, the exchange ends.
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        stop.store(true, Ordering::Relaxed);
        let counters = server.join().expect("no panic");
        (done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), counters)
    })
}

/// A flow whose controller takes what it is given.
struct Flow(Assigned);

impl CoupledEnds for Flow {
    fn share(&self, _: usize) -> Option<Assigned> {
        Some(self.0)
    }

    fn desired(&self, _: usize) -> Option<Bitrate> {
        None
    }

    fn srtt(&self, _: usize) -> Option<TimeDelta> {
        None
    }

    fn assign(&mut self, _: Time, _: usize, assigned: Assigned) {
        self.0 = assigned;
    }
}

/// A process of one flow.
struct Process {
    client: ExchangeClient,
    flow: Flow,
    begun: Instant,
}

impl Process {
    fn new(path: &Path, kbps: u64) -> Process {
        Process::in_group(path, kbps, GroupKey::Name("call".into()))
    }

    fn in_group(path: &Path, kbps: u64, group: GroupKey) -> Process {
        let coupling = CouplingParams::of("active").expect("a kind");
        let flows = [(group, Priority::ONE)];
        let client = ExchangeClient::new(path, &coupling, &flows, Vec::new()).expect("it fits");
        Process { client, flow: Flow(Assigned::Rate(Bitrate::from_kbps(kbps))), begun: Instant::now() }
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    /// Reads and waits until `done`, a minute at most.
    fn wait_until(&mut self, what: &str, done: impl Fn(&Process) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !done(self) {
            assert!(Instant::now() < until, "a minute without {what}");
            let now = self.now();
            if self.client.next_timeout() <= now {
                self.client.handle_timeout(now, &mut self.flow);
            }
            if self.client.read(now, &mut self.flow) || done(self) {
                continue;
            }
            let mut fds: Vec<_> = self
                .client
                .socket()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .into_iter()
                .collect();
            let span =
                self.client.next_timeout().saturating_since(self.now()).min(TimeDelta::from_millis(20));
            poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: span.as_nanos() })).expect("waited");
        }
    }

    /// Of its group, while it shares.
    fn sum_bps(&self) -> Option<u64> {
        self.client.coupled(0).share.map(|share| share.sum.as_bps())
    }

    fn join(&mut self) {
        self.wait_until("a share", |process| process.client.coupled(0).share.is_some());
    }

    /// The controller computes another rate; answers how long it took until the group's answer was taken: an assignment, or
    /// to a flow that is alone, its new sum. A process that could say nothing for long has left, and tells the rate as it joins
    /// again.
    fn update(&mut self, kbps: u64) -> Duration {
        let before = self.client.coupled(0);
        let begun = Instant::now();
        self.flow.0 = Assigned::Rate(Bitrate::from_kbps(kbps));
        let now = self.now();
        self.client.after_event(now, 0, &self.flow);
        let is_out = |process: &Process| process.client.coupled(0).share.is_none();
        let is_answered = |process: &Process| process.client.coupled(0) != before;
        self.wait_until("an answer", |process| is_answered(process) || is_out(process));
        self.join();
        begun.elapsed()
    }
}

/// A connection over which anything is said.
fn raw(path: &Path) -> OwnedFd {
    let raw = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
    connect(&raw, &SocketAddrUnix::new(path).expect("short")).expect("an exchange");
    raw
}

/// The next message; none at the end of the connection.
fn hear(raw: &OwnedFd) -> Option<Reply> {
    let mut buffer = [0; 1000];
    let (length, _) =
        recv(raw, &mut buffer[..], RecvFlags::empty()).ok().filter(|(length, _)| *length > 0)?;
    Some(decode_reply(&buffer[..length]).expect("a reply"))
}

fn bytes(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_request(request, &mut bytes).expect("it fits");
    bytes
}

#[test]
fn two_exchanges_do_not_listen_at_one_path() {
    let folder = Folder::new("two");
    let (path, limits) = (folder.socket(), ExchangeLimits::default());
    let refused = || ExchangeServer::bind(&path, &limits).err().expect("refused").to_string();
    let first = ExchangeServer::bind(&path, &limits).expect("a free path");
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its user alone");
    assert!(refused().contains("found another exchange that listens there"), "{}", refused());
    drop(first);
    let left = std::fs::read_dir(path.parent().expect("a folder")).expect("there").count();
    assert_eq!(left, 0, "its files are gone");
    // An exchange that was killed leaves its file behind.
    let killed = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).expect("a socket");
    bind(&killed, &SocketAddrUnix::new(&path).expect("short")).expect("bound");
    drop(killed);
    assert!(path.exists());
    drop(ExchangeServer::bind(&path, &limits).expect("a dead one's file is no obstacle"));
    std::fs::write(&path, "a letter").expect("written");
    assert!(refused().contains("no socket of an exchange"), "{}", refused());
    assert_eq!(std::fs::read_to_string(&path).expect("still there"), "a letter");
    std::fs::remove_file(&path).expect("removed");
    let other = std::os::unix::net::UnixListener::bind(&path).expect("a service of another kind");
    assert!(refused().contains("no socket of an exchange"), "{}", refused());
    drop(other);
    let long = folder.socket().with_file_name("x".repeat(120));
    let error = ExchangeServer::bind(&long, &limits).err().expect("too long").to_string();
    assert!(error.contains("cannot be listened on") && error.contains(&"x".repeat(120)), "{error}");
}

/// Anybody may lock a folder that is shared, such as `/tmp`.
#[test]
fn a_lock_on_the_folder_is_no_obstacle() {
    let folder = Folder::new("shared");
    let path = folder.socket();
    let open = std::fs::File::open(path.parent().expect("a folder")).expect("opened");
    flock(&open, FlockOperation::LockExclusive).expect("locked");
    drop(ExchangeServer::bind(&path, &ExchangeLimits::default()).expect("the lock is another's"));
}

/// Eight start at once at one path: one listens, the others are told so.
#[test]
fn of_many_that_start_at_once_one_listens() {
    let folder = Folder::new("race");
    let path = folder.socket();
    for _ in 0..10 {
        let results = std::thread::scope(|scope| {
            let starts =
                [(); 8].map(|()| scope.spawn(|| ExchangeServer::bind(&path, &ExchangeLimits::default())));
            starts.map(|start| start.join().expect("no panic"))
        });
        let listening = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(
            listening,
            1,
            "{:?}",
            results.iter().filter_map(|result| result.as_ref().err()).collect::<Vec<_>>()
        );
        assert!(path.exists());
    }
}

/// The print of this test is the round trip of an update: `cargo test -p paceline-net --test real_time --
/// an_update_is_answered --nocapture`.
#[test]
fn an_update_is_answered_soon_whatever_others_do() {
    judge_on_time(round_trips, |(alone, crowd, counters)| {
        assert_eq!(counters.joined, 1);
        // Of processes that hardly run, nobody hears much.
        assert!(counters.held_back > 3 && counters.unheard > 100, "{counters:?}");
        assert!(
            *alone < Duration::from_millis(20) && *crowd < Duration::from_millis(100),
            "{alone:?} {crowd:?}"
        );
    });
}

/// Medians of the round trips of updates, alone and beside processes that flood. Each is answered however late the machine is.
fn round_trips() -> (Duration, Duration, ExchangeCounters) {
    let folder = Folder::new("flood");
    let path = folder.socket();
    let (medians, counters) = beside(&path, || {
        let mut honest = Process::new(&path, 5000);
        honest.join();
        // As often as a call's reports come, and no two the same.
        let rates = (0..300).map(|number| {
            std::thread::sleep(Duration::from_millis(3));
            4000 + number % 7 * 10
        });
        let median = |mut spans: Vec<Duration>| {
            spans.sort();
            (spans[spans.len() / 2], spans[spans.len() * 99 / 100])
        };
        let alone = median(rates.clone().map(|kbps| honest.update(kbps)).collect());
        let over = &AtomicBool::new(false);
        let crowd = std::thread::scope(|scope| {
            for number in 0..3 {
                let raw = raw(&path);
                let said = bytes(&Request::Alive { echo: number });
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        // It reads nothing, and says so much that the socket takes no more.
                        if send(&raw, &said, SendFlags::DONTWAIT | SendFlags::NOSIGNAL).is_err() {
                            std::thread::sleep(Duration::from_micros(200));
                        }
                    }
                });
            }
            let spans = rates.take(100).map(|kbps| honest.update(kbps)).collect();
            over.store(true, Ordering::Relaxed);
            median(spans)
        });
        println!(
            "round trip of an update: median and 99 % {alone:?}, beside three processes that flood {crowd:?}"
        );
        (alone.0, crowd.0)
    });
    assert_eq!((counters.malformed, counters.refused), (0, 0), "{counters:?}");
    (medians.0, medians.1, counters)
}

#[test]
fn who_speaks_nonsense_is_shown_out_and_who_dies_leaves() {
    // The honest one does not say farewell either.
    judge_on_time(beside_nonsense, |counters| {
        assert_eq!((counters.vanished, counters.joined), (3, 3), "{counters:?}");
    });
}

fn beside_nonsense() -> ExchangeCounters {
    let folder = Folder::new("nonsense");
    let path = folder.socket();
    let ((), counters) = beside(&path, || {
        let mut honest = Process::new(&path, 5000);
        honest.join();
        let fool = raw(&path);
        assert!(matches!(hear(&fool), Some(Reply::Welcome { .. })));
        for length in 1..=10 {
            send(&fool, &vec![0xff; length * 100], SendFlags::NOSIGNAL).expect("sent");
            assert!(
                matches!(hear(&fool), Some(Reply::Refused { refusal: Refusal::Malformed, .. })),
                "{length}"
            );
        }
        assert_eq!(hear(&fool), None, "shown out");
        // Two more flows; then both processes die at once.
        let mut others = [(); 2].map(|()| Process::new(&path, 2000));
        others.iter_mut().for_each(Process::join);
        honest.wait_until("the others", |process| process.sum_bps() == Some(9_000_000));
        drop(others);
        let rate = |process: &Process| match process.flow.0 {
            Assigned::Rate(rate) => rate.as_bps() / 1000,
            Assigned::Window(window) => panic!("{window:?}"),
        };
        // A third of the sum is its own until the exchange knows of their end.
        let has_all = (0..1000).any(|_| {
            honest.update(rate(&honest) + 1);
            rate(&honest) >= 9000
        });
        assert!(has_all, "it has {} kbit/s, and not the rate of those who died", rate(&honest));
    });
    assert!(counters.malformed == 10 && counters.joined >= 3, "{counters:?}");
    counters
}

#[test]
fn a_socket_file_that_is_taken_away_is_made_again() {
    judge_on_time(taken_away, |counters| {
        assert_eq!((counters.joined, counters.processes), (2, 2), "nobody had to come again: {counters:?}");
    });
}

fn taken_away() -> ExchangeCounters {
    let folder = Folder::new("gone");
    let path = folder.socket();
    let ((), counters) = beside(&path, || {
        let mut first = Process::new(&path, 5000);
        first.join();
        std::fs::remove_file(&path).expect("it was there");
        let mut second = Process::new(&path, 2000);
        second.join();
        first.wait_until("the second", |process| process.sum_bps() == Some(7_000_000));
    });
    assert!(!path.exists(), "the new file is removed at the end, too");
    counters
}

#[test]
fn an_exchange_whose_place_is_taken_ends_and_says_so() {
    let folder = Folder::new("taken");
    let path = folder.socket();
    let server = ExchangeServer::bind(&path, &ExchangeLimits::default()).expect("a free path");
    std::fs::remove_file(&path).expect("it was there");
    let other = ExchangeServer::bind(&path, &ExchangeLimits::default()).expect("a free path again");
    let error = server.run(&AtomicBool::new(false), &|_| ()).expect_err("two at one path").to_string();
    assert!(error.contains("found another exchange that listens there"), "{error}");
    assert!(path.exists(), "the other's file stays");
    drop(other);
}

/// Streams that are multiplexed over one pair of sockets share, and those of another port do not.
#[test]
fn a_group_of_a_five_tuple_has_its_flows_alone() {
    judge_on_time(grouped, |counters| assert_eq!(counters.joined, 4, "{counters:?}"));
}

fn grouped() -> ExchangeCounters {
    let folder = Folder::new("tuple");
    let path = folder.socket();
    let tuple = |port: u16, traffic_class| {
        let end = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let protocol = FiveTuple::UDP;
        GroupKey::FiveTuple(FiveTuple { protocol, traffic_class, source: end(port), destination: end(5004) })
    };
    let ((), counters) = beside(&path, || {
        let keys = [tuple(50_000, 0), tuple(50_000, 0), tuple(50_001, 0), tuple(50_000, 1)];
        let mut processes = keys.map(|key| Process::in_group(&path, 3000, key));
        processes.iter_mut().for_each(Process::join);
        processes[0].wait_until("the other stream", |process| process.sum_bps() == Some(6_000_000));
        for place in [2, 3] {
            processes[place].update(3001);
            assert_eq!(processes[place].sum_bps(), Some(3_001_000), "{place}");
        }
    });
    assert_eq!((counters.refused, counters.malformed), (0, 0), "{counters:?}");
    counters
}

#[test]
fn more_processes_than_there_is_room_for_are_told_so() {
    let most = ExchangeLimits::default().processes;
    judge_on_time(crowded, |(welcome, turned_away)| {
        assert_eq!(*welcome, most - 1);
        assert!(*turned_away > most, "{turned_away}");
    });
}

/// How many of a crowd are welcome and how many are turned away beside an honest process, which may have left where it could say
/// nothing for long.
fn crowded() -> (usize, usize) {
    let folder = Folder::new("crowd");
    let path = folder.socket();
    let most = ExchangeLimits::default().processes;
    let (crowd, counters) = beside(&path, || {
        let mut honest = Process::new(&path, 5000);
        honest.join();
        let crowd: Vec<OwnedFd> = (0..2 * most).map(|_| raw(&path)).collect();
        let replies = crowd.iter().map(hear);
        let (welcome, others): (Vec<_>, Vec<_>) =
            replies.partition(|reply| matches!(reply, Some(Reply::Welcome { .. })));
        let full = |reply: &_| matches!(reply, Some(Reply::Refused { refusal: Refusal::Full, .. }));
        assert!(others.iter().all(full), "{others:?}");
        // More are welcome where the first ones have said nothing for too long before the last ones come.
        assert!(welcome.len() >= most - 1, "{}", welcome.len());
        assert!(honest.update(5010) < Duration::from_secs(20));
        drop(crowd);
        let mut later = Process::new(&path, 1000);
        later.join();
        (welcome.len(), others.len())
    });
    // The later one may have come before the crowd was gone, and then again.
    assert!(counters.turned_away as usize >= crowd.1, "{counters:?}");
    crowd
}
