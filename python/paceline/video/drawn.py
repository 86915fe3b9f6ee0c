"""Clips that are drawn, so that a call needs no file: a newsreader and a field with players, each by a seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Size: TypeAlias = "tuple[int, int]"
"""Width and height in pixels, both even."""


def newsreader(seed: int, size: Size, frames: int) -> NDArray[np.uint8]:
    """A head that talks, nods and blinks before a still background, with the noise of a camera."""
    import numpy as np

    rng = np.random.default_rng([seed, 1])
    width, height = size
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    x, y = x / width, y / height
    background = 70 + 25 * _texture(rng, size, 24) + 12 * _texture(rng, size, 4) + 40 * (x - 0.5)
    skin, cloth = 18 * _texture(rng, size, 6), 20 * _texture(rng, size, 3)
    sway, nod, mouth = (_wander(rng, frames, pace) for pace in (60, 30, 4))
    blinks = rng.random(frames) < 0.02
    pictures = np.empty((frames, height * 3 // 2, width), np.uint8)
    for frame in range(frames):
        dx, dy = 0.02 * sway[frame], 0.012 * nod[frame]
        luma = background.copy()
        shoulders = (x - 0.5 - dx / 2) ** 2 / 0.11 + (y - 1.05) ** 2 / 0.12 < 1
        luma[shoulders] = 45 + cloth[shoulders]
        face = (x - 0.5 - dx) ** 2 / 0.018 + (y - 0.42 - dy) ** 2 / 0.055 < 1
        shift = (round(dy * height), round(dx * width))
        luma[face] = 165 + np.roll(skin, shift, (0, 1))[face] - 90 * ((x - 0.45 - dx) ** 2)[face]
        for side in (-0.055, 0.055):
            opened = 0.00002 if blinks[frame] else 0.00018
            luma[(x - 0.5 - dx - side) ** 2 / 0.0005 + (y - 0.37 - dy) ** 2 / opened < 1] = 35
        speaking = 0.0002 + 0.0006 * abs(float(mouth[frame]))
        luma[(x - 0.5 - dx) ** 2 / 0.002 + (y - 0.53 - dy) ** 2 / speaking < 1] = 60
        pictures[frame] = _i420(luma + rng.normal(0, 1.0, luma.shape), face, (-10, 18))
    return pictures


def sports(seed: int, size: Size, frames: int) -> NDArray[np.uint8]:
    """A camera that pans over a field after players who run, and cuts to another place now and then."""
    import numpy as np

    rng = np.random.default_rng([seed, 2])
    width, height = size
    world = 105 + 30 * _texture(rng, (width * 3, height * 2), 12) + 22 * _texture(rng, (width * 3, height * 2), 2)
    count = 9
    places = rng.random((count, 2)) * (width, height)
    speeds = rng.normal(0, 3.5, (count, 2)) * (1, 0.5)
    shades = rng.choice([35.0, 225.0], count)
    pan, tilt = _wander(rng, frames, 25), _wander(rng, frames, 45)
    cut = 0.0
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    pictures = np.empty((frames, height * 3 // 2, width), np.uint8)
    for frame in range(frames):
        if frame and frame % 150 == 0:
            cut = float(rng.random()) * width
        left = int(width + cut / 2 + 0.35 * width * pan[frame]) % (2 * width)
        top = int(height / 2 + 0.2 * height * tilt[frame]) % height
        luma = world[top : top + height, left : left + width].copy()
        players = np.zeros(luma.shape, bool)
        for (px, py), shade in zip(places, shades, strict=True):
            body = ((x - px) / (0.025 * width)) ** 2 + ((y - py) / (0.09 * height)) ** 2 < 1
            luma[body] = shade + 12 * np.sin((y[body] - py) / 3)
            players |= body
        places = (places + speeds) % (width, height)
        speeds = 0.97 * speeds + rng.normal(0, 0.9, speeds.shape)
        pictures[frame] = _i420(luma + rng.normal(0, 1.5, luma.shape), ~players, (-12, -14))
    return pictures


DRAWN: dict[str, Callable[[int, Size, int], NDArray[np.uint8]]] = {"newsreader": newsreader, "sports": sports}
"""The generators of a source of kind codec, by name."""


def _texture(rng: np.random.Generator, size: Size, grain: int) -> NDArray[np.float32]:
    """Smooth noise of mean 0 and deviation 1, with details of about `grain` pixels."""
    import numpy as np
    from scipy.ndimage import gaussian_filter

    width, height = size
    noise = gaussian_filter(rng.normal(size=(height, width)), grain / 2, mode="wrap")
    texture: NDArray[np.float32] = (noise / noise.std()).astype(np.float32)
    return texture


def _wander(rng: np.random.Generator, frames: int, pace: float) -> NDArray[np.float64]:
    """A walk about 0 that turns every `pace` frames or so, of deviation 1."""
    import numpy as np
    from scipy.ndimage import gaussian_filter1d

    # Longer than asked for, so that the ends are like the middle and a short clip like the beginning of a long one.
    steps = gaussian_filter1d(rng.normal(size=4096 + frames), pace / 2, mode="wrap")
    walk: NDArray[np.float64] = steps[:frames] / np.sqrt(np.mean(steps**2))
    return walk


def _i420(luma: NDArray[np.float64], mask: NDArray[np.bool_], tint: tuple[int, int]) -> NDArray[np.uint8]:
    """A picture with its luma, and a tint of both chroma planes where the mask is."""
    import numpy as np

    half = mask[::2, ::2].astype(np.uint8)
    chroma = [(128 + value * half.astype(np.int16)).astype(np.uint8).ravel() for value in tint]
    planes = np.concatenate([np.clip(luma, 16, 235).astype(np.uint8).ravel(), *chroma])
    return planes.reshape(-1, luma.shape[1])
