"""The readers of TWCC and of RFC 8888 against tshark's, on random reports and on what is left of them after mutation.

An input that one of them takes and the other refuses has a name here, and the words of its specification. The dissector
of `docs/tools` for tshark is held to our readers in all, and to what the notes of captured reports say.
"""

import json
import os
import random
import re
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

from processes import ROOT, rust_example

TSHARK = os.environ.get("TSHARK") or shutil.which("tshark")
REPORTS = 400

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here: it builds what reads reports"),
    pytest.mark.skipif(TSHARK is None, reason="tshark is not here: there is nothing to compare with"),
]


def translated(lines: list[str]) -> list[str]:
    """Words of reports as bytes in hexadecimal, and bytes as words, by the crate's own reader and writer."""
    text = "\n".join(lines) + "\n"
    done = subprocess.run([rust_example("reports")], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def twcc(rng: random.Random) -> str:
    """Words of a random report of transport-wide numbers."""
    head = [rng.getrandbits(32), rng.getrandbits(32), rng.getrandbits(16), rng.getrandbits(24), rng.getrandbits(8)]
    missing, large = rng.choice([0.0, 0.1, 0.5]), rng.choice([0.0, 0.05, 0.5])

    def delta() -> str:
        if rng.random() < missing:
            return " -" * rng.choice([1, 1, 1, 20])
        return f" {rng.randrange(-(1 << 15), 1 << 15) if rng.random() < large else rng.randrange(256)}"

    return "twcc " + " ".join(map(str, head)) + "".join(delta() for _ in range(rng.randint(1, 40)))


def ccfb(rng: random.Random) -> str:
    """Words of a random report of RFC 8888."""

    def entry() -> str:
        offset = rng.choice([rng.randrange(64), rng.randrange(0x1FFE), "over", "unknown"])
        return " -" if rng.random() < 0.2 else f" {rng.randrange(4)}/{offset}"

    def block() -> str:
        entries = "".join(entry() for _ in range(rng.randint(0, 30)))
        return f" ssrc {rng.getrandbits(32)} {rng.getrandbits(16)}{entries}"

    timestamp = rng.randrange(1 << 17, 1 << 26) * 64
    return f"ccfb {rng.getrandbits(32)} {timestamp}" + "".join(block() for _ in range(rng.randint(1, 3)))


def mutated(rng: random.Random, whole: bytes) -> bytes:
    """A report of which bits, counts, its length or its end are others."""
    report = bytearray(whole)
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(6):
            case 0:
                report[rng.randrange(12, len(report))] ^= 1 << rng.randrange(8)
            case 1:
                report[rng.randrange(12, min(24, len(report)))] = rng.choice([0, 1, 7, 0x3F, 0xC0, 0xFF])
            case 2:
                # Packets of a TWCC report, and of the first block of RFC 8888's.
                report[14:16] = struct.pack(">H", rng.choice([0, report[15] - 1 & 0xFF, rng.getrandbits(16)]))
            case 3 if len(report) >= 24:
                # The first chunk, or SSRC or entries.
                report[20:22] = struct.pack(">H", rng.choice([0, rng.getrandbits(16)]))
            case 4 if len(report) > 20:
                del report[-4 * rng.randint(1, (len(report) - 16) // 4) :]
            case _:
                report += bytes(rng.choice([0, rng.getrandbits(8)]) for _ in range(4 * rng.randint(1, 2)))
    report[2:4] = struct.pack(">H", len(report) // 4 - 1)
    return bytes(report)


def capture(path: Path, packets: list[bytes], kept: int = 65535) -> None:
    """A capture file of datagrams to port 5005, IP without a link below, of each of which so many bytes were kept."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for second, packet in enumerate(packets):
            udp = struct.pack(">HHHH", 5004, 5005, 8 + len(packet), 0) + packet
            head = (0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
            datagram = struct.pack(">BBHHHBBH4s4s", *head) + udp
            front = datagram[:kept]
            file.write(struct.pack("<IIII", second, 0, len(front), len(datagram)) + front)


Field = tuple[str, str, str]
# Fields that tshark adds to a packet that it calls wrong.
MALFORMED = ("_ws.malformed", "rtcp.length_check.bad", "rtcp.rtpfb.transportcc_bad", "rtcp.mcptt.ccfb.invalid_pkt")


def dissected(path: Path) -> Iterator[list[Field]]:
    """Of each packet what tshark says: names of fields, their bytes in hexadecimal and what it shows."""
    command = [str(TSHARK), "-r", str(path), "-d", "udp.port==5005,rtcp", "-T", "pdml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for packet in ElementTree.fromstring(done.stdout).iter("packet"):
        protocols = [proto for proto in packet.iter("proto") if proto.get("name") in ("rtcp", "_ws.malformed")]
        fields = [field for proto in protocols for field in [proto, *proto.iter("field")]]
        keys = ("name", "value", "showname")
        yield [(field.get(keys[0], ""), field.get(keys[1], ""), field.get(keys[2], "")) for field in fields]


def values(fields: list[Field], name: str) -> list[int]:
    return [int(value, 16) for found, value, _ in fields if found == name and value]


def twcc_of_tshark(fields: list[Field]) -> str:
    """The words of a report by what tshark says of it."""
    head = ["senderssrc", "mediassrc", "rtpfb.transportcc.baseseq"]
    head += ["rtpfb.transportcc.reftime", "rtpfb.transportcc.pktcount"]
    numbers = [values(fields, f"rtcp.{name}")[0] for name in head]
    (count,) = values(fields, "rtcp.rtpfb.transportcc.statuscount")
    deltas = {}
    for name, value, shown in fields:
        if name == "rtcp.rtpfb.transportcc.recv_delta" and (said := re.search(r"\[seq: (\d+)\]", shown)):
            delta = int(value, 16)
            deltas[int(said[1])] = delta - (1 << 16) if len(value) == 4 and delta >> 15 else delta
    statuses = [deltas.get((numbers[2] + place) % (1 << 16), "-") for place in range(count)]
    return " ".join(map(str, ["twcc", *numbers, *statuses]))


def ccfb_of_tshark(fields: list[Field]) -> str:
    """The words of a report by what tshark says of it."""
    (sender,), (timestamp,) = values(fields, "rtcp.senderssrc"), values(fields, "rtcp.rtpfb.ccfb.timestamp")
    words, received, ecn = ["ccfb", str(sender), str(timestamp)], 0, 0
    for name, value, shown in fields:
        number = re.search(r": (\d+)", shown)
        match name.removeprefix("rtcp.rtpfb.ccfb."):
            case "rtcp.mediassrc":
                words += ["ssrc", str(int(value, 16))]
            case "beginseq":
                words.append(str(int(value, 16)))
            case "received" if number:
                received = int(number[1])
            case "ecn" if number:
                ecn = int(number[1])
            case "ato" if number:
                offset = {0x1FFE: "over", 0x1FFF: "unknown"}.get(int(number[1]), number[1])
                words.append(f"{ecn}/{offset}" if received else "-")
    return " ".join(words)


@dataclass(frozen=True)
class Compared:
    """A packet, what our reader says of it, and what tshark does."""

    packet: bytes
    ours: str
    fields: list[Field]

    @property
    def refused(self) -> bool:
        """Whether our reader refuses the packet."""
        return self.ours.startswith("error")

    @property
    def malformed(self) -> bool:
        """Whether tshark calls the packet wrong."""
        return any(name in MALFORMED for name, _, _ in self.fields)


Rule = Callable[[Compared], bool]


def chunks(it: Compared) -> tuple[list[int], int]:
    """The chunks of a TWCC report, and how many statuses they say beyond its packets."""
    (count,), said, found = struct.unpack_from(">H", it.packet, 14), 0, []
    while said < count:
        (chunk,) = struct.unpack_from(">H", it.packet, 20 + 2 * len(found))
        said += chunk & 0x1FFF if chunk < 1 << 15 else 14 if chunk < 3 << 14 else 7
        found.append(chunk)
    return found, said - count


def says_more_than_packets(it: Compared) -> bool:
    found, rest = chunks(it)
    last = found[-1]
    filling = 0xFFFF if last < 1 << 15 else (1 << rest * (1 if last < 3 << 14 else 2)) - 1
    return rest > 0 and last & filling != 0


def has_an_empty_run(it: Compared) -> bool:
    return any(chunk < 1 << 15 and chunk & 0x1FFF == 0 for chunk in chunks(it)[0])


def is_padded_by_words(it: Compared) -> bool:
    deltas = [value for name, value, _ in it.fields if name == "rtcp.rtpfb.transportcc.recv_delta"]
    end = 20 + 2 * len(chunks(it)[0]) + sum(len(value) // 2 for value in deltas)
    return bool(it.packet[0] & 0x20) and len(it.packet) - end >= 4


def counts_less_one(it: Compared) -> bool:
    """Whether we read a block of one packet more than its num_reports says."""
    (told,) = struct.unpack_from(">H", it.packet, 14)
    block = it.ours.split(" ssrc ")[1].split()
    return len(block) - 2 == told + 1


def has_words_behind(it: Compared) -> bool:
    return "bytes behind the deltas" in it.ours


def has_padding_that_lies(it: Compared) -> bool:
    return bool(it.packet[0] & 0x20) and ("padding count" in it.ours or "cut short" in it.ours)


def reports_on_nothing(it: Compared) -> bool:
    return "packet status count" in it.ours and not any(it.packet[14:16])


def pads_with_an_entry(it: Compared) -> bool:
    padding = values(it.fields, "rtcp.rtpfb.ccfb.padding")
    return "num_reports" in it.ours and any(value >> 15 for value in padding)


# Packets that tshark lets pass and we refuse, and the other way round: the reason by name.
TWCC_REFUSED: dict[str, Rule] = {
    # "11 Reserved" (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1.1): tshark takes it for a packet
    # that did not arrive.
    "a reserved status": lambda it: "packet status symbol" in it.ours,
    # A report ends with "zero padding" to a whole word (section 3.1): no word of it can be left. tshark does not look.
    "a word behind the deltas": has_words_behind,
    # "The last octet of the padding contains a count of how many padding octets should be ignored, including itself"
    # (RFC 3550 section 6.4.1): tshark does not ask the P bit of a TWCC report, and reads what is to be ignored.
    "padding that lies": has_padding_that_lies,
    # "packet status count: the number of packets this feedback contains status for": a report on nothing says no time.
    "a report on no packet": reports_on_nothing,
}
TWCC_TAKEN: dict[str, Rule] = {
    # The draft says nothing of statuses beyond the count. We leave them out, as libwebrtc does; tshark calls a long run
    # wrong and looks for the deltas of what a vector says there.
    "more statuses than packets": says_more_than_packets,
    # A run may be of any length that 13 bits say (section 3.1.3); tshark takes none.
    "a run of no packets": has_an_empty_run,
    # The same section of RFC 3550: padding may be words long, and tshark has no place for it.
    "padding of words": is_padded_by_words,
}
CCFB_REFUSED: dict[str, Rule] = {
    # "16 bits of zero padding MUST be added after the last packet metric block" of an odd number (RFC 8888 section
    # 3.1); tshark does not look at them.
    "padding that is an entry": pads_with_an_entry,
}
CCFB_TAKEN: dict[str, Rule] = {
    # Erratum 8166 of RFC 8888: peers wrote the count less one. Where only that fills the packet, or else the padding
    # would be an entry, it is read so.
    "a count less one": counts_less_one,
}


def reports(make: Callable[[random.Random], str]) -> tuple[list[bytes], list[str]]:
    """Random reports, then what mutations left of them; and the words of our reader for each."""
    rng = random.Random(8888)
    words = [make(rng) for _ in range(REPORTS)]
    whole = [bytes.fromhex(line) for line in translated(words)]
    packets = whole + [mutated(rng, report) for report in whole for _ in range(6)]
    ours = translated([packet.hex() for packet in packets])
    assert ours[:REPORTS] == words
    return packets, ours


def compare(
    path: Path,
    make: Callable[[random.Random], str],
    of_tshark: Callable[[list[Field]], str],
    refused: dict[str, Rule],
    taken: dict[str, Rule],
) -> Counter[str]:
    """How often they agree, and how often they do not by which name; fails at what has no name."""
    packets, ours = reports(make)
    capture(path, packets)
    seen: Counter[str] = Counter()
    for packet, own, fields in zip(packets, ours, dissected(path), strict=True):
        it = Compared(packet, own, fields)
        theirs = "error" if it.malformed else of_tshark(fields)
        if it.refused and it.malformed:
            seen["refused"] += 1
        elif own == theirs:
            seen["read alike"] += 1
        else:
            rules = refused if it.refused else taken
            name = next((name for name, rule in rules.items() if rule(it)), None)
            assert name is not None, f"{packet.hex()}: {own}; tshark: {theirs}"
            seen[name] += 1
    assert set(seen) == {"refused", "read alike", *refused, *taken}
    return seen


def test_twcc_is_read_as_tshark_reads_it(tmp_path: Path) -> None:
    seen = compare(tmp_path / "twcc.pcap", twcc, twcc_of_tshark, TWCC_REFUSED, TWCC_TAKEN)
    assert seen["read alike"] > 1.5 * REPORTS


def test_rfc_8888_is_read_as_tshark_reads_it(tmp_path: Path) -> None:
    fields = subprocess.run([str(TSHARK), "-G", "fields"], capture_output=True, text=True, check=True).stdout
    if "rtcp.rtpfb.ccfb.beginseq" not in fields:
        pytest.skip("this tshark does not read RFC 8888: 4.0 does not, 4.4 does")
    seen = compare(tmp_path / "ccfb.pcap", ccfb, ccfb_of_tshark, CCFB_REFUSED, CCFB_TAKEN)
    assert seen["read alike"] > 1.5 * REPORTS


DISSECTOR = ROOT / "docs" / "tools" / "feedback.lua"
# A report, a field of it and what the dissector shows of it.
Shown = list[tuple[str, str]]


def by_dissector(path: Path, *options: str) -> Iterator[list[Shown]]:
    """Of each packet the reports in it by the dissector of `docs/tools`, fields and experts in order."""
    command = [str(TSHARK), "-X", f"lua_script:{DISSECTOR}", "-r", str(path), *options, "-T", "pdml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Lua Error" not in done.stdout + done.stderr
    for packet in ElementTree.fromstring(done.stdout).iter("packet"):
        protocols = [proto for proto in packet.iter("proto") if proto.get("name") in ("ccfb", "twcc")]
        fields = [[field for field in proto.iter("field") if not field.get("hide")] for proto in protocols]
        yield [[(field.get("name", ""), field.get("show", "")) for field in report] for report in fields]


def shown(report: Shown, name: str) -> list[str]:
    return [value for found, value in report if found == name]


def one(report: Shown, name: str) -> int:
    (value,) = shown(report, name)
    return int(value, 0)


def words_of(report: Shown) -> str:
    """The words of a report by what the dissector shows of it, or that it is wrong."""
    if shown(report, "ccfb.wrong") or shown(report, "twcc.wrong"):
        return "error"
    if shown(report, "twcc.base_seq"):
        head = ["sender_ssrc", "media_ssrc", "base_seq", "reference", "feedback_count"]
        words = ["twcc", *(str(one(report, f"twcc.{name}")) for name in head)]
        steps = (str(int(micros) // 250) for micros in shown(report, "twcc.delta_us"))
        statuses = [next(steps) if it in ("True", "1") else "-" for it in shown(report, "twcc.received")]
        return " ".join(words + statuses)
    words, ecn = ["ccfb", *(str(one(report, f"ccfb.{name}")) for name in ("sender_ssrc", "timestamp"))], ""
    for name, value in report:
        match name:
            case "ccfb.ssrc":
                words += ["ssrc", str(int(value, 0))]
            case "ccfb.begin_seq":
                words.append(value)
            case "ccfb.received" if value in ("False", "0"):
                words.append("-")
            case "ccfb.ecn":
                ecn = str(int(value, 0))
            case "ccfb.ato":
                offset = {0x1FFE: "over", 0x1FFF: "unknown"}.get(int(value, 0), str(int(value, 0)))
                words.append(f"{ecn}/{offset}")
    return " ".join(words)


@pytest.mark.parametrize("make", [twcc, ccfb])
def test_the_dissector_reads_as_we_do(tmp_path: Path, make: Callable[[random.Random], str]) -> None:
    packets, ours = reports(make)
    capture(tmp_path / "reports.pcap", packets)
    read = 0
    for packet, own, found in zip(packets, ours, by_dissector(tmp_path / "reports.pcap"), strict=True):
        (report,) = found
        assert words_of(report) == ("error" if own.startswith("error") else own), packet.hex()
        read += not own.startswith("error")
    assert 1.5 * REPORTS < read < len(packets) - REPORTS / 4


def test_the_dissector_reads_what_a_short_capture_kept(tmp_path: Path) -> None:
    packets, _ = reports(ccfb)
    packets = packets[:100] + reports(twcc)[0][:100]
    for kept in range(28, 120, 7):
        capture(tmp_path / "short.pcap", packets, kept)
        for packet, found in zip(packets, by_dissector(tmp_path / "short.pcap"), strict=True):
            # Only of what is known to be RTCP: a header.
            if kept < 32:
                assert not found
                continue
            (report,) = found
            marks = shown(report, "ccfb.front") + shown(report, "twcc.front")
            assert bool(marks) == (kept < 28 + len(packet)), packet.hex()


def test_a_compound_datagram_has_a_tree_for_each_report(tmp_path: Path) -> None:
    receiver_report = bytes.fromhex("80c9000100000001")
    feedback = [
        bytes.fromhex(line) for line in translated(["ccfb 1 131072 ssrc 2 65535 1/3 3/1", "twcc 1 2 65535 7 9 1 -3"])
    ]
    capture(tmp_path / "compound.pcap", [receiver_report + feedback[0] + feedback[1], feedback[1] + b"\0" * 4])
    compound, no_rtcp = by_dissector(tmp_path / "compound.pcap")
    assert [words_of(report) for report in compound] == [
        "ccfb 1 131072 ssrc 2 65535 1/3 3/1",
        "twcc 1 2 65535 7 9 1 -3",
    ]
    assert shown(compound[0], "ccfb.packet") == ["65535", "0"]
    assert shown(compound[0], "ccfb.ce") == ["1"]
    assert shown(compound[1], "twcc.packet") == ["65535", "0"]
    assert not no_rtcp


def captured(name: str) -> tuple[list[bytes], list[dict]]:
    """Packets that were captured of others, and notes on chosen ones."""
    data = os.environ.get("PACELINE_DATA")
    folder = Path(data or "") / ".." / "oracles" / "feedback"
    if not data or not folder.exists():
        pytest.skip("PACELINE_DATA names no folder with captured reports beside it")
    notes = folder / f"{name}.json"
    lines = (folder / f"{name}.hex").read_text().split()
    return [bytes.fromhex(line) for line in lines], json.loads(notes.read_text()) if notes.exists() else []


@pytest.mark.parametrize("name", ["chromium-rfc8888-ecn", "ericsson-rfc8888", "pion-twcc"])
def test_the_dissector_reads_what_others_wrote(tmp_path: Path, name: str) -> None:
    packets, notes = captured(name)
    capture(tmp_path / "theirs.pcap", packets + [bytes.fromhex(note["hex"]) for note in notes])
    ours = translated([packet.hex() for packet in packets])
    found = [report for (report,) in by_dissector(tmp_path / "theirs.pcap")]
    assert [words_of(report) for report in found[: len(packets)]] == ours
    for report, note in zip(found[len(packets) :], notes, strict=True):
        assert_means(report, note["decoded"])


def assert_means(report: Shown, decoded: dict) -> None:
    """The dissector shows the values in the note on a captured report."""
    if blocks := decoded.get("blocks"):
        assert one(report, "ccfb.sender_ssrc") == decoded["sender_ssrc"]
        assert shown(report, "ccfb.timestamp") == ["0x" + decoded["rts_hex"]]
        assert abs(float(shown(report, "ccfb.time")[0]) - float(decoded["rts"].removesuffix(" s"))) < 1e-6
        (block,) = blocks
        assert [one(report, f"ccfb.{key}") for key in ("ssrc", "begin_seq", "num_reports")] == [
            block[key] for key in ("ssrc", "begin", "num_reports")
        ]
        marks = zip(shown(report, "ccfb.ecn"), shown(report, "ccfb.ato"), strict=True)
        assert [f"ecn{int(ecn, 0)}/ato{int(ato, 0)}" for ecn, ato in marks] == block["reports"]
        return
    keys = {"sender_ssrc": "sender_ssrc", "media_ssrc": "media_ssrc", "base_seq": "base"}
    keys |= {"status_count": "count", "feedback_count": "fb_count"}
    for ours, theirs in keys.items():
        assert one(report, f"twcc.{ours}") == decoded[theirs]
    assert one(report, "twcc.reference") * 64 == decoded["reference_ms"]
    arrived = [delta for delta in decoded["deltas_us"] if delta is not None]
    assert [int(delta) for delta in shown(report, "twcc.delta_us")] == arrived
    assert one(report, "twcc.missing") == len(decoded["deltas_us"]) - len(arrived)
