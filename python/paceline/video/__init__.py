"""Real video in a simulated call: clips, the encoder in the loop, and what the receiver saw, judged after the run.

The simulator asks an encoder once per frame and carries sizes; encoded data stays here. When the run is over the log
of packets says what arrived when: each frame is decoded from that, with the decoder's own concealment, and compared
with the source's picture. Needs the extra `paceline[video]`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paceline.errors import PacelineError

if TYPE_CHECKING:
    from types import ModuleType


class VideoError(PacelineError):
    """A clip that cannot be used, or an encoder that is not installed."""

    exit_status = 2


def pyav() -> ModuleType:
    """PyAV, which holds FFmpeg and x264.

    Raises:
        VideoError: It is not installed.
    """
    try:
        import av
        import av.filter
    except ImportError:
        raise VideoError(
            "source kind codec: found no encoder, expected PyAV with x264: pip install 'paceline[video]'"
        ) from None
    module: Any = av
    return module  # type: ignore[no-any-return]
