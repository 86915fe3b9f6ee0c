"""The parameters of source kind codec-model for a clip: by x264 at five rates over it, or estimated without x264."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from paceline.video.decoder import Decoder
from paceline.video.encoded import Request
from paceline.video.encoder import LOWEST_KBPS, X264, payload
from paceline.video.estimate import estimate
from paceline.video.quality import Meter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from paceline.video.clips import Clip

Coded: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.float64]]"
"""Bits per pixel and PSNR in dB of frames."""

BITS_PER_PIXEL = 0.1
"""Where the model's parabola begins."""
DOUBLINGS = (-3.5, 4.5)
"""How far it reaches, in doublings of that."""
OWN_SHARE = (0.01, 1.0)
"""Bounds of the share of a frame's own bits."""
FITTED_RATES = (0.02, 0.05, 0.15, 0.4, 1.2)
"""Bits per pixel at which a clip is encoded to fit the parabola."""
ESTIMATED_RATES = (0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2)
"""Bits per pixel at which the parabola follows an estimate."""
KEYED_RATES = (0.05, 0.1, 0.2)
"""Bits per pixel at which key frames are compared with the frames before them, and with those after them."""
KEYS = range(75, 275, 25)
"""Frames that are key frames then."""
SELDOM_KEYS = range(75, 315, 60)
"""Frames that are key frames for what is kept while nothing is refreshed: a refresh begins 60 frames after one."""
GROWN = 20
"""Frames after a key frame by which its own bits no longer tell."""
KEPT_SCALES = (1.0, 6.0)
"""Bounds of how many times the bits of its frames a picture comes to."""
USED = 0.97
"""Part of the rate that x264 makes of its target."""
LARGE_BUFFER = 5
"""Frames of the buffer from which on x264 gives a frame half of what is in it (ratecontrol.c, max_fill_factor)."""
USUAL = {"kept_scale": 1.3, "key_scale": 2.8, "key_fall": 0.2}
"""An estimate's parameters of key frames: about the medians of ten clips by x264."""
LOSSES = 12
"""Slices that are taken away, one at a time, for what concealment leaves."""
SETTLED = 75
"""Frames at the beginning of a sequence that are left out. The first frame is as large as the encoder's buffer, and
what it shows is seen until the picture has been refreshed once: for `key_interval`."""
SHORTEST = 150
"""Frames that are coded for each rate at least."""
DISTANCES = (1, 2, 4, 8, 16)
"""Frames between the pictures that are compared, for what a freeze costs."""
FAR = 32
"""Frames between pictures that have as little in common as any of the clip."""
SPENT_ON_REFRESH = 0.5
"""Part of what refreshed columns cost by which frames are larger: the encoder saves the rest in other columns."""
GUESSED = 0.45
"""Part of the way in dB from the last picture to one that is predicted with known motion, which concealment comes."""
SETTINGS: dict[str, Any] = {
    "fps": 30.0,
    "repeat": "forward-and-back",
    "preset": "superfast",
    "key_interval": 2.0,
    "intra_refresh": True,
    "buffer": 12_500,
    "max_payload": 1200,
}
"""The encoder's settings, which are the defaults of source kind codec."""


def settled(clip: Clip) -> range:
    """The frames of a call that a clip is judged by: all of its pictures, played forward and back."""
    return range(SETTLED, SETTLED + max(SHORTEST, 2 * len(clip.pictures) - 2))


def constant(rate: float) -> Callable[[int], float]:
    """The same rate for each frame."""
    return lambda _: rate


def coded(clip: Clip, bits_per_pixel: Callable[[int], float], frames: range, keys: range = range(0)) -> Coded:
    """Bits per pixel and PSNR in dB of these frames of the clip, encoded from its beginning at the rate of each.

    `keys` are key frames beside the first.
    """
    import numpy as np

    pixels = clip.size[0] * clip.size[1]
    encoder, meter = X264(SETTINGS, clip), Meter(clip)
    decoder: Decoder | None = None
    bits, psnr = [], []
    for frame in range(frames.stop):
        kbps = max(1, round(bits_per_pixel(frame) * pixels * SETTINGS["fps"] / 1000))
        encoded = encoder.encode(Request(kbps, frame == 0 or frame in keys))
        decoder = decoder or Decoder(encoder.parameter_sets)
        picture = decoder.decode(frame, encoded.slices)
        bits.append(payload(encoded.slices, SETTINGS["max_payload"]) * 8 / pixels)
        psnr.append(meter.compare(picture, clip.index(frame, SETTINGS["repeat"]))[0])
    return np.array(bits[frames.start :]), np.array(psnr[frames.start :])


def fit(clip: Clip) -> dict[str, float]:
    """The keys of `source = { kind = "codec-model", ... }` for a clip, from what x264 makes of it."""
    import numpy as np

    points = [coded(clip, constant(rate), settled(clip)) for rate in FITTED_RATES]
    doublings = [math.log2(float(np.mean(bits)) / BITS_PER_PIXEL) for bits, _ in points]
    low = [bits for bits, _ in points[1:3]]
    sigma = np.mean([np.std(np.log(bits)) for bits in low])
    found = _parabola(doublings, [float(np.mean(psnr)) for _, psnr in points])
    keyed = {rate: coded(clip, constant(rate), range(KEYS.start, KEYS.stop), KEYS) for rate in KEYED_RATES}
    found |= _frozen(clip) | _own_share(keyed, found) | _key_sizes(clip, keyed)
    found |= _kept_scale(clip, found) | _unseen(clip) | _damaged(clip) | _size(clip)
    refresh = float(np.mean([_refresh_scale(clip, bits) for bits in low]))
    return found | {"sigma": float(sigma), "refresh_scale": refresh}


def estimated(clip: Clip) -> dict[str, float]:
    """The same from the clip's pixels alone, without an encoder."""
    import numpy as np

    found, frozen = estimate(clip), _frozen(clip)
    parabola = _parabola(
        [math.log2(rate / BITS_PER_PIXEL) for rate in ESTIMATED_RATES], [found.at(rate) for rate in ESTIMATED_RATES]
    )
    # A decoder guesses how what is lost has moved, and finds a part of what an encoder finds that knows it.
    concealed = frozen["freeze_psnr"] + GUESSED * max(0.0, found.predicted_db - frozen["freeze_psnr"])
    own = [rate / found.key_frame(found.at(rate)) for rate in KEYED_RATES]
    own_share = float(np.clip(np.exp(np.mean(np.log(own))), *OWN_SHARE))
    # A column that is refreshed costs its part of a key frame, most of which is not saved elsewhere at once.
    refresh = 1 + SPENT_ON_REFRESH * (1 / own_share - 1) / _columns(clip)
    found_sizes = {"own_share": own_share, "refresh_scale": min(refresh, 3.0)}
    return parabola | found_sizes | USUAL | frozen | {"concealed_psnr": concealed} | _size(clip)


def _parabola(doublings: list[float], psnr: list[float]) -> dict[str, float]:
    import numpy as np

    curvature, slope, middle = np.polyfit(doublings, psnr, 2)
    return {"psnr": float(middle), "slope": float(slope), "curvature": float(curvature)}


def _frozen(clip: Clip) -> dict[str, float]:
    """How fast the clip moves away from a picture that stays."""
    import numpy as np

    apart = [distance for distance in DISTANCES if distance < len(clip.pictures)]
    far = [_apart(clip, distance) for distance in apart] or [60.0]
    fall = np.polyfit(np.log2(apart), far, 1) if len(apart) > 1 else (0.0, far[0])
    distant = range(min(FAR, len(clip.pictures) - 1), len(clip.pictures), max(1, len(clip.pictures) // 8))
    least = float(np.mean([_apart(clip, distance) for distance in distant])) if len(clip.pictures) > 1 else 60.0
    return {
        "freeze_psnr": float(fall[1]),
        "freeze_slope": max(0.0, float(-fall[0])),
        "freeze_least": min(least, float(fall[1])),
        "unseen_psnr": 10 * math.log10(255**2 / max(float(np.var(clip.pictures[:, : clip.size[1]])), 0.1)),
    }


def _columns(clip: Clip) -> int:
    """Frames that a refresh takes, a column of macroblocks each."""
    return -(-clip.size[0] // 16)


def _refresh_scale(clip: Clip, bits: NDArray[np.float64]) -> float:
    """How much larger frames are while a refresh crosses the picture; `bits` are those of the settled frames."""
    import numpy as np

    period = round(SETTINGS["key_interval"] * SETTINGS["fps"])
    refreshed = (np.array(settled(clip)) % period) < _columns(clip)
    scale = float(np.mean(bits[refreshed]) / np.mean(bits))
    return float(np.clip(scale, 1.0, 3.0))


def _own_share(keyed: dict[float, Coded], parabola: dict[str, float]) -> dict[str, float]:
    """How much of a frame's quality its own bits make: a key frame has it from that share of its bits alone."""
    import numpy as np

    found = []
    for bits, psnr in keyed.values():
        for frame in range(0, len(bits), KEYS.step):
            found.append(_bits_per_pixel(parabola, float(psnr[frame])) / bits[frame])
    return {"own_share": float(np.clip(np.exp(np.mean(np.log(found))), *OWN_SHARE))}


def _key_sizes(clip: Clip, keyed: dict[float, Coded]) -> dict[str, float]:
    """How much larger than the others key frames are, of those that the buffer does not cut."""
    import numpy as np

    scales, largest = [], 1.0
    for rate, (bits, _) in keyed.items():
        share = rate * clip.size[0] * clip.size[1] / 8
        most = SETTINGS["buffer"] / share / (2 if SETTINGS["buffer"] >= LARGE_BUFFER * share else 1)
        scale = float(np.mean(bits[:: KEYS.step])) / rate / USED
        largest = max(largest, scale)
        if scale < 0.8 * most:
            scales.append((math.log(rate / BITS_PER_PIXEL), math.log(max(1.0, scale))))
    if len(scales) < 2:
        return {"key_scale": largest, "key_fall": 0.0}
    rates, logarithms = np.array(scales).T
    fall, at_begin = np.polyfit(rates, logarithms, 1)
    if fall >= 0:
        # It falls or stays: more bits make no key frame larger than the others' multiple.
        fall, at_begin = 0.0, float(np.mean(logarithms))
    return {"key_scale": math.exp(at_begin), "key_fall": min(2.0, abs(float(fall)))}


def _kept_scale(clip: Clip, found: dict[str, float]) -> dict[str, float]:
    """How many times its frames' bits a picture comes to between key frames so near that nothing is refreshed."""
    import numpy as np

    frames = range(SELDOM_KEYS.start, SELDOM_KEYS.stop)
    runs = [coded(clip, constant(rate), frames, SELDOM_KEYS) for rate in KEYED_RATES]

    def off(scale: float) -> float:
        errors = []
        for bits, psnr in runs:
            kept = 0.0
            for frame, own in enumerate(bits):
                after = frame % SELDOM_KEYS.step
                kept = found["own_share"] * own + (kept * (1 - found["own_share"] / scale) if after else 0.0)
                if after >= GROWN:
                    errors.append(float(predicted(found, [kept])[0]) - float(psnr[frame]))
        return abs(float(np.mean(errors)))

    return {"kept_scale": float(min(np.geomspace(*KEPT_SCALES, 37), key=off))}


def _unseen(clip: Clip) -> dict[str, float]:
    """PSNR of a first frame as a decoder shows it from the first slice alone, against all pictures of the clip."""
    import numpy as np

    encoder = X264(SETTINGS, clip)
    slices = encoder.encode(Request(LOWEST_KBPS, True)).slices
    if len(slices) < 2:
        return {}
    picture, meter = Decoder(encoder.parameter_sets).decode(0, slices[:1]), Meter(clip)
    some = range(0, len(clip.pictures), max(1, len(clip.pictures) // 50))
    psnr = [meter.compare(picture, index)[0] for index in some]
    return {"unseen_psnr": float(np.mean(psnr))}


def _bits_per_pixel(parabola: dict[str, float], psnr: float) -> float:
    """At how many bits per pixel the parabola has this PSNR; where it never has, those of its end."""
    import numpy as np

    doublings = np.linspace(*DOUBLINGS, 401)
    values = parabola["psnr"] + doublings * (parabola["slope"] + parabola["curvature"] * doublings)
    return BITS_PER_PIXEL * 2 ** float(doublings[int(np.argmin(np.abs(values - psnr)))])


def _size(clip: Clip) -> dict[str, float]:
    return {"width": float(clip.size[0]), "height": float(clip.size[1])}


def _damaged(clip: Clip) -> dict[str, float]:
    """The parameters of concealment of lost slices; none where frames are of a single one."""
    import numpy as np

    pixels = clip.size[0] * clip.size[1]
    rate = round(FITTED_RATES[-1] * pixels * SETTINGS["fps"] / 1000)
    encoder = X264(SETTINGS, clip)
    frames = [encoder.encode(Request(rate, frame == 0)).slices for frame in range(SETTLED + SHORTEST)]
    whole = _errors(clip, encoder.parameter_sets, frames)
    found = []
    for loss in range(LOSSES):
        at = SETTLED + SHORTEST * loss // LOSSES
        slices = frames[at]
        if len(slices) > 1:
            gone = (1 + 2 * loss) * len(slices) // (2 * LOSSES)
            rest = (*slices[:gone], *slices[gone + 1 :])
            errors = _errors(clip, encoder.parameter_sets, [*frames[:at], rest])
            found.append(max(0.0, float(errors[at] - whole[at])) * len(slices))
    # A slice of what moves most costs many times as much as the others, of which most are.
    error = float(np.median(found)) if found else 0.0
    return {"concealed_psnr": min(60.0, 10 * math.log10(255**2 / error))} if error > 0 else {}


def _errors(clip: Clip, parameter_sets: bytes, frames: Sequence[tuple[bytes, ...]]) -> NDArray[np.float64]:
    """Mean squared error of each frame that is decoded from these slices."""
    import numpy as np

    decoder, meter, picture, errors = Decoder(parameter_sets), Meter(clip), None, []
    for frame, slices in enumerate(frames):
        picture = decoder.decode(frame, slices) or picture
        psnr = meter.compare(picture, clip.index(frame, SETTINGS["repeat"]))[0]
        errors.append(255**2 / 10 ** (psnr / 10))
    return np.array(errors)


def predicted(params: dict[str, float], bits_per_pixel: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """PSNR in dB of frames of so many bits per pixel, as the model has it."""
    import numpy as np

    doublings = np.clip(np.log2(np.asarray(bits_per_pixel) / BITS_PER_PIXEL), *DOUBLINGS)
    values: NDArray[np.float64] = params["psnr"] + doublings * (params["slope"] + params["curvature"] * doublings)
    return values


def _apart(clip: Clip, distance: int) -> float:
    """Mean PSNR in dB of the clip's pictures against those `distance` frames before them."""
    import numpy as np

    luma = clip.pictures[:, : clip.size[1]]
    pairs = range(distance, len(luma), max(1, len(luma) // 50))
    errors = [np.mean((luma[at].astype(np.float32) - luma[at - distance]) ** 2) for at in pairs]
    return float(np.mean([min(60.0, 10 * math.log10(255**2 / max(error, 1e-9))) for error in errors]))
