"""Calls with a real browser: what is offered and answered, what the page says, and Chromium where it is installed."""

from __future__ import annotations

import http.client
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline import run
from paceline.browser.call import BrowserCall, call
from paceline.browser.chromium import NAMES, BrowserError, Chromium, Congestion, field_trials, find
from paceline.browser.sdp import OfferError, answer, read_offer, repair
from paceline.browser.seen import COLUMNS, table
from paceline.browser.server import LARGEST, PageServer
from paceline.scenario import read
from processes import PATIENCE_S, until

OFFER = """v=0
o=- 1 2 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0
m=video 9 RTP/AVPF 102 96 97
c=IN IP4 0.0.0.0
a=ice-ufrag:OLgZ
a=ice-pwd:HRxNqVhCHx/udAieGoHhpxe+
a=mid:0
a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid
a=extmap:4/sendonly http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
a=sendonly
a=rtcp-mux
a=rtpmap:102 H264/90000
a=rtcp-fb:102 transport-cc
a=rtpmap:96 VP8/90000
a=rtcp-fb:96 transport-cc
a=rtcp-fb:96 ack ccfb
a=rtpmap:97 rtx/90000
"""

SCENARIO = """
name = "browser"
duration = "6s"
warmup = "2s"
[links.there]
rate = "2Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "200ms" }
[flows.video]
controller = "scream"
source = { kind = "trace-encoder", generator = "frames", fps = 30 }
path = ["there"]
return_delay = "20ms"
"""


def needs_chromium(test: Callable[..., None]) -> Callable[..., None]:
    """A test that holds a call with Chromium."""
    skipped = pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="no Chromium is installed")
    return pytest.mark.real_time(pytest.mark.peer(skipped(test)))


def test_an_offer_is_answered_with_one_codec_one_candidate_and_the_feedback() -> None:
    offer = read_offer(OFFER.replace("\n", "\r\n"), "twcc")
    assert (offer.mid, offer.ufrag, offer.payload_type, offer.transport_wide) == ("0", "OLgZ", 96, 4)
    said = {"port": 5000, "ufrag": "us", "password": "secret", "ssrc": 7}
    text = answer(offer, "twcc", sends=False, **said)
    assert "m=video 5000 RTP/AVPF 96\r\n" in text
    assert "rtx" not in text, "without a NACK nothing is sent again"
    assert text.count("a=candidate:") == 1
    assert "a=recvonly" in text
    assert "a=rtcp-fb:96 transport-cc" in text
    assert "a=extmap:4 " in text
    assert "a=ssrc" not in text
    text = answer(read_offer(OFFER, "rfc8888"), "rfc8888", sends=True, **said)
    assert "a=sendonly" in text
    assert "a=ssrc:7 cname:paceline" in text
    assert "a=rtcp-fb:* ack ccfb" in text
    assert "extmap" not in text


REPAIRED = OFFER + "a=rtcp-fb:96 nack\na=fmtp:97 apt=96\n"


def test_packets_are_sent_again_if_both_sides_can() -> None:
    offer = read_offer(REPAIRED, "rfc8888")
    assert (offer.repair_type, offer.ssrcs) == (97, None)
    said = {"port": 5000, "ufrag": "us", "password": "secret", "ssrc": 2**32 - 1}
    text = answer(offer, "rfc8888", sends=True, **said)
    assert "m=video 5000 RTP/AVPF 96 97\r\n" in text
    assert "a=ssrc-group:FID 4294967295 0\r\n" in text
    assert text.count("msid:paceline video") == 2
    assert repair(offer, sends=True, ssrc=7) == (7, 8, 97)
    assert repair(offer, sends=False, ssrc=7) is None, "it does not say which SSRCs"
    offer = read_offer(REPAIRED + "a=ssrc-group:FID 11 12\n", "rfc8888")
    assert repair(offer, sends=False, ssrc=7) == (11, 12, 97)
    text = answer(offer, "rfc8888", sends=False, **said)
    assert "a=rtcp-fb:96 nack\r\n" in text
    assert "FID" not in text


@pytest.mark.parametrize(
    "group", ["FID 1", "FID 1 4294967296", "SIM 1 2", "FID a b", "FID -1 2", f"FID 1 {'9' * 5000}"]
)
def test_a_group_that_is_no_pair_of_ssrcs_is_none(group: str) -> None:
    assert read_offer(f"{REPAIRED}a=ssrc-group:{group}\n", "rfc8888").ssrcs is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("RTP/AVPF", "UDP/TLS/RTP/SAVPF"), "--disable-webrtc-encryption"),
        (("VP8", "AV1"), "found the codecs H264/90000, AV1/90000, rtx/90000, expected VP8/90000"),
        (("a=rtcp-fb:96 ack ccfb\n", ""), "found the feedback transport-cc, expected ack ccfb"),
        (("m=video", "m=audio"), "none of video"),
        (("rtpmap:96", "rtpmap:300"), "found the codecs H264/90000, rtx/90000, expected VP8/90000"),
        (("a=ice-ufrag", "a=ice"), "no ice-ufrag"),
        ((OFFER, ""), "found 0 sections"),
    ],
)
def test_an_offer_that_cannot_be_answered_says_why(changed: tuple[str, str], said: str) -> None:
    with pytest.raises(OfferError, match=said):
        read_offer(OFFER.replace(*changed), "rfc8888")


def test_only_what_a_congestion_control_needs_is_switched_on() -> None:
    assert field_trials("twcc", Congestion.gcc) == ""
    assert "RFC8888" in field_trials("rfc8888", Congestion.gcc)
    assert "ScreamV2" in field_trials("rfc8888", Congestion.scream)


def test_figures_of_the_browser_become_columns_with_their_growth() -> None:
    rows = [
        (99.0, {"outbound-rtp.bytesSent": 7.0}),
        (101.0, {"outbound-rtp.bytesSent": 10_000.0, "candidate-pair.currentRoundTripTime": 0.05}),
        (100.0, {"outbound-rtp.bytesSent": 0.0, "inbound-rtp.jitterBufferDelay": 1.0}),
        (102.0, {"outbound-rtp.bytesSent": 10_000.0, "outbound-rtp.targetBitrate": float("inf")}),
    ]
    seen = table(rows, 100.0)
    assert seen.column("time_s").to_pylist() == [1.0, 2.0]
    assert seen.column("sent_mbps").to_pylist() == pytest.approx([0.08, 0.0])
    assert seen.column("round_trip_ms").to_pylist() == [50.0, None]
    assert seen.column("target_mbps").to_pylist() == [None, None]
    assert seen.column("jitter_buffer_ms").to_pylist() == [None, None]
    assert all(seen.schema.field(column.name).metadata[b"unit"].decode() == column.unit for column in COLUMNS)
    assert table([], 0.0).num_rows == 0


def post(url: str, body: bytes) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=PATIENCE_S) as answered:
            return answered.status, answered.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def announced(url: str, length: int) -> int:
    """The answer to a client that says that so many bytes follow."""
    host = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(host.netloc, timeout=PATIENCE_S)
    connection.putrequest("POST", f"{host.path}stats")
    connection.putheader("Content-Length", str(length))
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.real_time
def test_a_page_offers_once_and_strangers_are_turned_away() -> None:
    with PageServer({"role": "send"}) as server:
        with urllib.request.urlopen(server.url, timeout=PATIENCE_S) as page:
            assert '{"role": "send"}' in page.read().decode()
        stranger = server.url.replace(server.token, "guess")
        assert post(f"{stranger}offer", b"x")[0] == 404
        assert post(f"{server.url}other", b"x")[0] == 404
        answered: queue.Queue[tuple[int, str]] = queue.Queue()
        first = threading.Thread(target=lambda: answered.put(post(f"{server.url}offer", OFFER.encode())))
        first.start()
        until("an offer", lambda: not server.offers.empty())
        assert post(f"{server.url}offer", b"another")[0] == 409
        assert server.offers.get() == OFFER
        server.answer(200, "v=0")
        first.join()
        assert answered.get() == (200, "v=0")


@pytest.mark.real_time
def test_what_is_no_figure_is_refused_and_the_page_goes_on() -> None:
    with PageServer({}) as server:
        for body in (b"", b"[]", b'{"time": 1}', b'{"time": "x", "figures": {}}', b'{"time": NaN, "figures": {}}'):
            assert post(f"{server.url}stats", body)[0] == 400
        many = json.dumps({"time": 1, "figures": {str(name): 1 for name in range(2000)}}).encode()
        assert post(f"{server.url}stats", many)[0] == 400
        assert announced(server.url, LARGEST + 1) == 413
        looked = b'{"time": 2, "figures": {"inbound-rtp.jitter": 3, "a.b": 3, "c": "no", "d": null}}'
        assert post(f"{server.url}stats", looked)[0] == 200
        assert list(server.rows) == [(2.0, {"inbound-rtp.jitter": 3.0})]


@pytest.mark.real_time
def test_a_browser_that_is_not_there_or_ends_is_named() -> None:
    with pytest.raises(BrowserError, match=r"found none of /nowhere/chromium.*--wait"):
        find("/nowhere/chromium")
    with Chromium("about:blank", "", shutil.which("false")) as ended, pytest.raises(BrowserError, match="status 1"):
        until("its end", lambda: ended.check() is not None)


@pytest.mark.real_time
def test_a_page_hears_why_it_is_refused_though_the_call_is_over() -> None:
    answered: queue.Queue[tuple[int, str]] = queue.Queue()
    with PageServer({}) as server:
        url = f"{server.url}offer"
        page = threading.Thread(target=lambda: answered.put(post(url, OFFER.encode())))
        page.start()
        server.offers.get(timeout=PATIENCE_S)
        server.answer(400, "no such codec")
    page.join()
    assert answered.get() == (400, "no such codec")


@pytest.mark.real_time
@pytest.mark.parametrize("own", [True, False])
def test_a_browser_that_never_offers_is_not_waited_for_for_ever(
    own: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexec sleep 60\n")
    mute.chmod(0o755)
    monkeypatch.setattr(sys.modules["paceline.browser.call"], "PERSON_S" if own else "OFFER_S", 1.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(BrowserError, match="no browser offered a call within 1 s"):
        call(read(SCENARIO).load(), "send", program=str(mute), wait=(lambda *_: None) if own else None)
    assert [path.name for path in tmp_path.iterdir()] == ["mute"]


def test_a_browser_that_stops_telling_is_said() -> None:
    result = run(SCENARIO)
    rows = [(100.0 + second, {}) for second in range(4)]
    for end, said in ((5.0, []), (9.0, ["the browser said nothing from 3.0 s on"])):
        result.summary["wall_s"] = end
        assert BrowserCall(result, result, rows, 100.0, "receive").warnings == said


def paceline(*arguments: str, folder: Path) -> subprocess.Popen[str]:
    (folder / "call.toml").write_text(SCENARIO)
    command = [sys.executable, "-m", "paceline", "browser", "call.toml", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=folder, text=True, **pipes)  # type: ignore[call-overload,no-any-return]


@needs_chromium
@pytest.mark.parametrize("role", ["send", "receive"])
def test_chromium_holds_a_call(role: str, tmp_path: Path) -> None:
    held = paceline("--role", role, "--out", "out", "--plot", "--json", folder=tmp_path)
    printed, said = held.communicate(timeout=PATIENCE_S)
    assert held.returncode == 0, said
    browser = json.loads(printed)["browser"]
    if role == "send":
        assert browser["frames_decoded"] > 100
        assert browser["received_mbps"] > 0.5
    else:
        assert browser["encoded_fps"] > 3
        assert browser["sent_mbps"] > 0.05
    # The links' delays there and back; a round trip that leaves them out takes less than a millisecond.
    assert browser["round_trip_ms"] >= 40
    endpoint = json.loads((tmp_path / "out/endpoint/summary.json").read_text())
    assert endpoint["flows"]["video"]["packets_received"] > 30
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "browser.json", "browser.parquet", "endpoint", "link", "plots",
    }  # fmt: skip


@needs_chromium
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_a_call_that_is_ended(ends: signal.Signals, tmp_path: Path) -> None:
    profiles = tmp_path / "profiles"
    profiles.mkdir()
    before = dict(os.environ)
    os.environ["TMPDIR"] = str(profiles)
    try:
        held = paceline("--set", 'duration="60s"', folder=tmp_path)
    finally:
        os.environ.clear()
        os.environ.update(before)
    until("a browser", lambda: bool(_browsers(profiles)))
    time.sleep(3)
    held.send_signal(ends)
    held.communicate(timeout=PATIENCE_S)
    until("an end of all browsers", lambda: not _browsers(profiles))
    assert ends is signal.SIGKILL or not list(profiles.glob("paceline-browser-*"))


def _browsers(profiles: Path) -> list[str]:
    """The processes whose profile is in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if str(profiles).encode() in command:
            found.append(process.name)
    return found
