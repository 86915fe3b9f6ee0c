"""A frame as it is asked for, and as the encoder made it."""

from __future__ import annotations

from typing import NamedTuple


class Request(NamedTuple):
    """The source's request to the encoder for a frame."""

    kbps: int
    """Rate of the frames with their padding."""
    key: bool


class Encoded(NamedTuple):
    """A frame as the encoder made it."""

    slices: tuple[bytes, ...]
    """Its slices, NAL units without start codes."""
    key: bool
