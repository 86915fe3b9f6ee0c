"""A transport is named in its own files and in one line of each room that knows transports, and nowhere else."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("scenario", "sim", "net", "metrics", "py")
# Files that are about one transport, though they are not in a folder called `transports`.
OF_ONE = {
    "scenario/src/source.rs": "short transfers and connection vectors are sources that TCP alone carries",
    "net/src/agreed.rs": "the form of RTP packets that both ends of a call agree on",
    "net/src/peer.rs": "the one sender of RTP that a receiver or relay listens to",
    "net/src/ssrc.rs": "RTP's SSRCs",
    "net/src/receiver/codec.rs": "media of any transport is numbered, played out and reported on as RTP's",
    "net/src/receiver/session.rs": "media of any transport is numbered, played out and reported on as RTP's",
    "net/src/browser": "calls with a browser are RTP",
    "net/src/script": "a script of what happens to an RTP session, for tests and the fuzz target",
    "py/src/media_sender.rs": "RTP's sender for programs",
    "py/src/media_receiver.rs": "RTP's receiver for programs",
}


def names() -> list[str]:
    """The transports, as the scenario's list has them."""
    listed = (ROOT / "crates/scenario/src/transports/mod.rs").read_text(encoding="utf-8")
    found = re.findall(r'^    (\w+)\("(\w+)", \w+, \w+\),$', listed, re.MULTILINE)
    assert len(found) >= 4, found
    return [name for pair in found for name in pair]


def without_tests_and_comments(source: str) -> str:
    source = re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", source, maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r"//.*", "", source)


def test_no_other_file_names_a_transport() -> None:
    variants = "|".join(names())
    named = re.compile(
        rf"\b(?:Transport|TransportSpec|EndsParts|Over|Filter|AnySendingDriver|AnyFlow|Spelling)::(?:{variants})\b"
        rf"|\bpaceline_(?:{variants})\b|\"(?:{variants})\""
    )
    wrong, used = [], set()
    for room in ROOMS:
        for path in sorted((ROOT / "crates" / room / "src").rglob("*.rs")):
            place = path.relative_to(ROOT / "crates").as_posix()
            if {"transports", "tests"} & set(place.split("/")) or path.stem.endswith("tests"):
                continue
            found = named.findall(without_tests_and_comments(path.read_text(encoding="utf-8")))
            exempt = [name for name in OF_ONE if place == name or place.startswith(f"{name}/")]
            used.update(exempt if found else [])
            wrong += [f"{place}: {name}" for name in found if not exempt]
    assert not wrong, wrong
    assert used == set(OF_ONE), set(OF_ONE) - used
