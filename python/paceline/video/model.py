"""The parameters of source kind codec-model for a clip: x264 at three rates over the clip, and how the clip moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from paceline.video.decoder import Decoder
from paceline.video.encoder import X264, Request, payload
from paceline.video.quality import Meter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from paceline.video.clips import Clip

BITS_PER_PIXEL = 0.1
"""Where the model's parabola begins."""
FITTED_RATES = (0.02, 0.15, 1.2)
"""Bits per pixel at which a clip is encoded to fit the parabola."""
FITTED_FRAMES = 300
"""Frames of the clip that are encoded for that at most."""
SETTLED = 30
"""Frames at the beginning of a sequence that are left out: the rate control settles."""
DISTANCES = (1, 2, 4, 8, 16)
"""Frames between the pictures that are compared, for what a freeze costs."""
SETTINGS: dict[str, Any] = {
    "fps": 30.0,
    "repeat": "forward",
    "preset": "superfast",
    "key_interval": 2.0,
    "intra_refresh": True,
    "buffer": 12_500,
    "max_payload": 1200,
}
"""The encoder's settings, which are the defaults of source kind codec."""


def constant(rate: float) -> Callable[[int], float]:
    """The same rate for each frame."""
    return lambda _: rate


def coded(
    clip: Clip, bits_per_pixel: Callable[[int], float], frames: range
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bits per pixel and PSNR in dB of these frames of the clip, encoded from its beginning at the rate of each."""
    import numpy as np

    pixels = clip.size[0] * clip.size[1]
    encoder, meter = X264(SETTINGS, clip), Meter(clip)
    decoder: Decoder | None = None
    bits, psnr = [], []
    for frame in range(frames.stop):
        kbps = max(1, round(bits_per_pixel(frame) * pixels * SETTINGS["fps"] / 1000))
        encoded = encoder.encode(Request(kbps, frame == 0))
        decoder = decoder or Decoder(encoder.parameter_sets)
        picture = decoder.decode(frame, encoded.slices)
        bits.append(payload(encoded.slices, SETTINGS["max_payload"]) * 8 / pixels)
        psnr.append(meter.compare(picture, clip.index(frame, SETTINGS["repeat"]))[0])
    return np.array(bits[frames.start :]), np.array(psnr[frames.start :])


def fit(clip: Clip) -> dict[str, float]:
    """The keys of `source = { kind = "codec-model", ... }` for a clip."""
    import numpy as np

    count = min(FITTED_FRAMES, len(clip.pictures))
    frames = range(min(SETTLED, count // 2), count)
    points = [coded(clip, constant(rate), frames) for rate in FITTED_RATES]
    doublings = [math.log2(float(np.mean(bits)) / BITS_PER_PIXEL) for bits, _ in points]
    curvature, slope, psnr = np.polyfit(doublings, [float(np.mean(psnr)) for _, psnr in points], 2)
    sigma = np.median([np.std(np.log(bits)) for bits, _ in points])
    apart = [distance for distance in DISTANCES if distance < len(clip.pictures)]
    far = [_apart(clip, distance) for distance in apart] or [60.0]
    fall = np.polyfit(np.log2(apart), far, 1) if len(apart) > 1 else (0.0, far[0])
    found = {"psnr": psnr, "slope": slope, "curvature": curvature, "freeze_psnr": fall[1], "freeze_slope": -fall[0]}
    size = {"width": float(clip.size[0]), "height": float(clip.size[1])}
    return {name: float(value) for name, value in found.items()} | {"sigma": float(sigma)} | size


def predicted(params: dict[str, float], bits_per_pixel: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """PSNR in dB of frames of so many bits per pixel, as the model has it."""
    import numpy as np

    doublings = np.clip(np.log2(np.asarray(bits_per_pixel) / BITS_PER_PIXEL), -3.5, 4.5)
    values: NDArray[np.float64] = params["psnr"] + doublings * (params["slope"] + params["curvature"] * doublings)
    return values


def _apart(clip: Clip, distance: int) -> float:
    """Mean PSNR in dB of the clip's pictures against those `distance` frames before them."""
    import numpy as np

    luma = clip.pictures[:, : clip.size[1]]
    pairs = range(distance, len(luma), max(1, len(luma) // 50))
    errors = [np.mean((luma[at].astype(np.float32) - luma[at - distance]) ** 2) for at in pairs]
    return float(np.mean([min(60.0, 10 * math.log10(255**2 / max(error, 1e-9))) for error in errors]))
