"""A browser's offer and the answer to it, as SDP (RFC 8829): plain RTP, one stream of VP8, ICE lite, one candidate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from paceline.errors import PacelineError

TRANSPORT_WIDE = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
PLAIN = "RTP/AVPF"
CODEC = "VP8/90000"
RTX = "rtx/90000"
FEEDBACK = {"rfc8888": "ack ccfb", "twcc": "transport-cc"}
"""The value of `a=rtcp-fb` for each format of feedback."""


class OfferError(PacelineError):
    """An offer that cannot be answered."""


@dataclass(frozen=True)
class Offer:
    """The relevant parts of a browser's offer of video."""

    mid: str
    ufrag: str
    payload_type: int
    transport_wide: int | None
    """Identifier of the header extension with the transport-wide number, if that is offered."""
    repair_type: int | None = None
    """Payload type of retransmissions, if those are offered and can be asked for."""
    ssrcs: tuple[int, int] | None = None
    """SSRCs of the media that it sends, and of its retransmissions."""


def read_offer(text: str, feedback: str) -> Offer:
    """The offer, if it can be answered with reports in the format `feedback`.

    Raises:
        OfferError: It is encrypted, or has no video, no VP8, no such reports, or no ICE.
    """
    session, *media = _sections(text)
    video = next((lines for lines in media if lines[0].startswith("m=video ")), None)
    if video is None:
        raise OfferError(f"offer: found {len(media)} sections and none of video, expected one")
    protocol = video[0].split()[2] if len(video[0].split()) > 2 else ""
    if protocol != PLAIN:
        raise OfferError(
            f"offer: found {protocol or 'no protocol'}, expected {PLAIN}: start the browser with "
            "--disable-webrtc-encryption"
        )
    names = _by_payload_type(video, "rtpmap")
    payload_type = next((number for number, name in names if name.upper() == CODEC), None)
    if payload_type is None:
        raise OfferError(f"offer: found the codecs {', '.join(name for _, name in names) or 'none'}, expected {CODEC}")
    wanted, known = FEEDBACK[feedback], _by_payload_type(video, "rtcp-fb")
    if not any(number in (payload_type, None) and said == wanted for number, said in known):
        said = ", ".join(sorted({said for _, said in known})) or "none"
        raise OfferError(f"offer: found the feedback {said}, expected {wanted}, for feedback.format = {feedback!r}")
    ufrag = next(iter([*_values(video, "ice-ufrag"), *_values(session, "ice-ufrag")]), None)
    if ufrag is None:
        raise OfferError("offer: found no ice-ufrag, expected the browser's user name fragment")
    mid = next(iter(_values(video, "mid")), "0")
    repair_type = _repair_type(video, payload_type) if (payload_type, "nack") in known else None
    return Offer(mid, ufrag, payload_type, _transport_wide(video), repair_type, _pair(video))


def answer(offer: Offer, feedback: str, *, sends: bool, port: int, ufrag: str, password: str, ssrc: int) -> str:
    """The answer of an end on 127.0.0.1 that sends or receives."""
    number, repairs = offer.payload_type, repair(offer, sends=sends, ssrc=ssrc)
    payload_types = f"{number} {repairs[2]}" if repairs else f"{number}"
    # Chromium reports by RFC 8888 if that is said of all payload types.
    reported = "*" if feedback == "rfc8888" else number
    lines = [
        *("v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=ice-lite", f"a=group:BUNDLE {offer.mid}"),
        *(f"m=video {port} {PLAIN} {payload_types}", "c=IN IP4 127.0.0.1"),
        *(f"a=candidate:1 1 udp 2130706431 127.0.0.1 {port} typ host", "a=end-of-candidates"),
        *(f"a=ice-ufrag:{ufrag}", f"a=ice-pwd:{password}", f"a=mid:{offer.mid}", "a=rtcp-mux", "a=rtcp-rsize"),
        *(f"a=rtpmap:{number} {CODEC}", f"a=rtcp-fb:{reported} {FEEDBACK[feedback]}"),
        "a=sendonly" if sends else "a=recvonly",
    ]
    if feedback == "twcc" and offer.transport_wide is not None:
        lines.append(f"a=extmap:{offer.transport_wide} {TRANSPORT_WIDE}")
    if repairs:
        own, other, payload_type = repairs
        lines += [f"a=rtpmap:{payload_type} {RTX}", f"a=fmtp:{payload_type} apt={number}", f"a=rtcp-fb:{number} nack"]
        lines += [f"a=ssrc-group:FID {own} {other}"] if sends else []
    for own in ((*repairs[:2],) if repairs else (ssrc,)) if sends else ():
        lines += [f"a=ssrc:{own} cname:paceline", f"a=ssrc:{own} msid:paceline video"]
    return "".join(f"{line}\r\n" for line in lines)


def repair(offer: Offer, *, sends: bool, ssrc: int) -> tuple[int, int, int] | None:
    """SSRC of the media (`ssrc` if we send it), SSRC and payload type of its retransmissions, if there are any."""
    own = (ssrc, (ssrc + 1) % (1 << 32)) if sends else offer.ssrcs
    return None if offer.repair_type is None or own is None else (*own, offer.repair_type)


def _sections(text: str) -> list[list[str]]:
    """The lines of the session, then those of each section of media."""
    sections: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("m="):
            sections.append([])
        sections[-1].append(line.strip())
    return sections


def _values(lines: Iterable[str], name: str) -> list[str]:
    prefix = f"a={name}:"
    return [line.removeprefix(prefix) for line in lines if line.startswith(prefix)]


def _by_payload_type(lines: Iterable[str], name: str) -> list[tuple[int | None, str]]:
    """Values of attributes by payload type, of which `*` is all: None."""
    said = []
    for value in _values(lines, name):
        number, _, rest = value.partition(" ")
        if number == "*" or (number.isdecimal() and len(number) <= 3 and int(number) < 128):
            said.append((None if number == "*" else int(number), rest.strip()))
    return said


def _repair_type(lines: Iterable[str], original: int) -> int | None:
    """The payload type of retransmissions of another (RFC 4588 section 8.1)."""
    lines = list(lines)
    offered = {number for number, name in _by_payload_type(lines, "rtpmap") if name.lower() == RTX}
    of = (number for number, said in _by_payload_type(lines, "fmtp") if said.replace(" ", "") == f"apt={original}")
    return next((number for number in of if number in offered), None)


def _pair(lines: Iterable[str]) -> tuple[int, int] | None:
    """SSRCs of a stream and of its retransmissions (RFC 5576 section 4.2)."""
    for value in _values(lines, "ssrc-group"):
        words = value.split()
        numbers = [int(word) for word in words[1:] if word.isdecimal() and len(word) <= 10]
        if words[:1] == ["FID"] and len(numbers) == 2 and max(numbers) < 1 << 32:
            return numbers[0], numbers[1]
    return None


def _transport_wide(lines: Iterable[str]) -> int | None:
    for value in _values(lines, "extmap"):
        number, _, rest = value.partition(" ")
        number = number.partition("/")[0]
        if rest.split()[:1] == [TRANSPORT_WIDE] and number.isdecimal() and 1 <= int(number) <= 14:
            return int(number)
    return None
