use super::*;
use crate::receiver::codec::{Data, PacketKind};
use crate::record::joined;
use crate::socket::UdpPort;
use crate::transports::Over;
use crate::{NetOutput, parse_address};
use paceline_cc::StreamId;
use paceline_rtp::RtpFeedback;
use paceline_scenario::{Loaded, Loader, Origin, load};
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

/// Its sender's first packet opens the session, the second ends it; reading that takes long.
#[derive(Default)]
struct SlowlyClosed {
    packets: u64,
}

impl ReceivingCodec for SlowlyClosed {
    #[allow(clippy::disallowed_methods, reason = "it plays a machine that is busy")]
    fn receive(
        &mut self,
        _now: Time,
        datagram: &Datagram<'_>,
        _counters: &mut NetCounters,
        mut take: impl FnMut(SessionPacket<'_>),
    ) {
        self.packets += 1;
        let data = Some(Data { payload: datagram.bytes, padding: 0, rtp: None, stamp: None, transport: 0 });
        let (begins, resynchronised) = (self.packets == 1, false);
        let number = Some(self.packets);
        take(SessionPacket {
            begins,
            resynchronised,
            stream: StreamId(0),
            number,
            data,
            kind: PacketKind::Original,
        });
        if self.is_over() {
            std::thread::sleep(std::time::Duration::from_millis(220));
        }
    }

    fn report(&mut self, _report: &RtpFeedback) {}

    fn poll_transmit(&mut self, _now: Time, _bytes: &mut Vec<u8>) -> Option<SocketAddr> {
        None
    }

    fn is_over(&self) -> bool {
        self.packets == 2
    }
}

fn received(loaded: &Loaded) -> NetOutput {
    let [from, to] =
        [(); 2].map(|()| UdpPort::bind(parse_address("127.0.0.1:0").expect("one")).expect("a socket"));
    let target = to.address().expect("an address");
    let flow = ChosenFlow::of(loaded, None).expect("the only one");
    let Over::Rtp(parts) = flow.over else { panic!("over RTP") };
    let config = parts.receiving(None, false);
    let port = Port::new(to, None).expect("a port");
    let driver =
        ReceivingDriver::new(port, flow, config, SlowlyClosed::default(), ReceiveOptions::on(target));
    for _ in 0..2 {
        from.send(&[0; 100], target, Ecn::NotEct).expect("sent");
    }
    let ended = driver.run(&Control { stop: &AtomicBool::new(false), progress: &|_| () }).expect("an end");
    joined(vec![ended], Vec::new()).expect("a receiver waits for no answer")
}

/// A receiver whose sender closed while it was late has a row of every interval that was over by then.
#[test]
#[ignore = "in real time"]
fn a_session_that_its_sender_ends_has_every_row() {
    let text = "duration = \"60s\"\n[links.l]\nrate = \"10Mbps\"\nqueue = { packets = 100 }\n[flows.f]\n\
                controller = \"scream\"\nsource = { kind = \"bulk\" }\npath = [\"l\"]\n";
    let loaded = load(&Origin { text, file: "test.toml", sets: &[] }, &Loader::default()).expect("sound");
    let output = received(&loaded);
    let intervals = (output.summary.duration_s / 0.05) as usize;
    assert!(intervals >= 4, "{}", output.summary.duration_s);
    assert_eq!(output.flows.rows(), intervals);
}
