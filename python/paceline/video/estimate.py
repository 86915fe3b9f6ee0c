"""A clip under x264, estimated from its pixels: nothing is encoded, and no encoder is needed.

Short segments of the clip go through what decides rate and error in H.264: motion compensation of macroblocks by
quarters of a pixel (8.4.2), an 8x8 transform, and a quantiser with a dead zone, adapted to each macroblock as x264
does. Instead of an entropy coder there are counts, and the bits that each is worth: `WEIGHTS`, fitted to x264 by
`benches/codec_model.py --weights`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from paceline.video.clips import Clip

    Pixels = NDArray[np.float32]

QUANTISERS = (11, 18, 25, 32, 39, 46)
"""Quantiser parameters (QP) at which segments are estimated."""
WEIGHTS = (5.61, 0.01, 4.84, 27.46, 0.01)
"""Bits for each coefficient that is not zero, each doubling of one, each 8x8 block and each macroblock that is coded,
and each bit of a motion vector by its size."""
SEGMENTS, SEGMENT, SETTLING = 5, 9, 4
"""Segments of a clip, frames of each, and of those the first ones, which count for nothing."""
DEAD_ZONE = (0.17, 0.33)
"""The number added before a level is rounded down, of predicted and of intra-coded blocks: x264's."""
LOWEST_SLOPE = 2.5
"""PSNR that twice the bits add where fewer are asked for than the coarsest quantiser takes, in dB."""
_MACROBLOCK, _BLOCK, _MARGIN = 16, 8, 40


@dataclass(frozen=True)
class Estimate:
    """The size of a clip, and its quality at each of `QUANTISERS`, in the order of falling quality."""

    counts: NDArray[np.float64]
    """Per pixel, quantiser x what `WEIGHTS` weigh."""
    psnr_db: NDArray[np.float64]
    """PSNR of the luma."""
    predicted_db: float
    """PSNR of pictures that are predicted from the one before them by motion alone."""
    key_counts: NDArray[np.float64]
    """The counts of pictures that refer to no other."""
    key_psnr_db: NDArray[np.float64]
    """PSNR of those."""

    def at(self, bits_per_pixel: float, weights: tuple[float, ...] = WEIGHTS) -> float:
        """PSNR in dB of frames of so many bits per pixel."""
        import numpy as np

        bits = np.log2(np.maximum(self.counts @ np.array(weights), 1e-4)) - 1e-3 * np.arange(len(QUANTISERS))
        wanted = float(np.log2(bits_per_pixel))
        found = float(np.interp(wanted, bits[::-1], self.psnr_db[::-1]))
        steepest = float((self.psnr_db[0] - self.psnr_db[1]) / max(bits[0] - bits[1], 0.3))
        above, below = max(0.0, wanted - float(bits[0])), max(0.0, float(bits[-1]) - wanted)
        return found + above * steepest - below * LOWEST_SLOPE

    def key_frame(self, psnr_db: float, weights: tuple[float, ...] = WEIGHTS) -> float:
        """Bits per pixel of a key frame of this PSNR."""
        import numpy as np

        bits = np.log2(np.maximum(self.key_counts @ np.array(weights), 1e-4))
        return float(2 ** np.interp(psnr_db, self.key_psnr_db[::-1], bits[::-1]))


def estimate(clip: Clip, refresh: int = 60) -> Estimate:
    """Estimates a clip, every part of which is refreshed once in `refresh` frames.

    Of a clip that is longer than its segments those are taken at equal distances from its whole length.
    """
    import numpy as np

    width, height = (side // _MACROBLOCK * _MACROBLOCK for side in clip.size)
    count = len(clip.pictures)
    length = min(SEGMENT, count)
    starts = np.linspace(0, count - length, SEGMENTS + 2)[1:-1].astype(int) if count > length else np.array([0])
    found, keys, missed = [], [], []
    for start in dict.fromkeys(starts.tolist()):
        luma = clip.pictures[start : start + length, :height, :width].astype(np.float32)
        sums, errors = _segment(luma, refresh)
        settled = min(SETTLING, length - 1)
        found.append(sums[settled:])
        keys.append(sums[0])
        missed += errors
    sums, firsts = np.concatenate(found), np.stack(keys)
    psnr, key_psnr = (np.mean(10 * np.log10(255**2 / np.maximum(one[..., 0], 1e-3)), axis=0) for one in (sums, firsts))
    predicted = 10 * np.log10(255**2 / max(float(np.mean(missed)), 1e-3)) if missed else 60.0
    counts, key_counts = (np.mean(one[..., 1:], axis=0) / (width * height) for one in (sums, firsts))
    return Estimate(counts, psnr, float(min(60.0, predicted)), key_counts, key_psnr)


def _segment(luma: Pixels, refresh: int) -> tuple[NDArray[np.float64], list[float]]:
    """Of each frame and quantiser its mean squared error and counts; and the errors of prediction by motion alone."""
    import numpy as np

    _, height, width = luma.shape
    columns = width // _MACROBLOCK
    sums = np.zeros((len(luma), len(QUANTISERS), 1 + len(WEIGHTS)))
    shown: list[Pixels] = [luma[0]] * len(QUANTISERS)
    missed: list[float] = []
    for number, picture in enumerate(luma):
        frame = _Frame(picture)
        # Two columns of each macroblock's neighbourhood are refreshed, once in each interval.
        place = 2 * columns / refresh
        fresh = np.zeros((height // _MACROBLOCK, columns), bool)
        fresh[:, np.arange(int(number * place), int((number + 1) * place)) % columns] = True
        if number:
            frame.follow(luma[number - 1])
            missed.append(frame.error_by_motion)
        for which, quantiser in enumerate(QUANTISERS):
            before = shown[which] if number else None
            shown[which], sums[number, which] = frame.coded(before, quantiser, fresh)
    return sums, missed


class _Frame:
    """A picture, its motion from the one before, and its prediction from its own pixels."""

    def __init__(self, picture: Pixels) -> None:
        import numpy as np

        self._picture = picture
        self._blocks = _cut(picture, _MACROBLOCK)
        self._intra, self._intra_cost = _intra(picture)
        energy = np.maximum(self._blocks.var((2, 3)) * _MACROBLOCK**2, 1)
        # x264's adaptive quantisation, mode 1: a finer quantiser where there is little texture.
        self._finer = 1.0397 * (np.log2(energy) - 14.427)
        self._motion = np.zeros((*self._blocks.shape[:2], 2), np.int64)
        self._cost = np.full(self._blocks.shape[:2], np.inf, np.float32)
        self._motion_bits = np.zeros(self._blocks.shape[:2])
        self.error_by_motion = 0.0

    def follow(self, before: Pixels) -> None:
        """Finds the motion from the picture before."""
        import numpy as np

        samples = _Samples(before)
        self._motion = _motion(self._picture, before, samples)
        difference = self._blocks - samples.moved(self._motion)
        self._cost = np.abs(difference).sum((2, 3))
        self.error_by_motion = float(np.mean(difference**2))
        left = np.roll(self._motion, 1, axis=1)
        left[:, 0] = 0
        self._motion_bits = 2 * np.log2(1 + np.abs(self._motion - left)).sum(-1) + (self._motion != left).any(-1)

    def coded(
        self, before: Pixels | None, quantiser: int, fresh: NDArray[np.bool_]
    ) -> tuple[Pixels, NDArray[np.float64]]:
        """The picture as it would be decoded; its mean squared error and the counts."""
        import numpy as np
        from scipy.fft import dctn, idctn

        intra = fresh | (self._intra_cost + 6.8 * 2 ** ((quantiser - 12) / 6) < self._cost)
        prediction = self._intra
        if before is not None:
            moved = _Samples(before).moved(self._motion)
            prediction = np.where(intra[..., None, None], self._intra, moved)
        else:
            intra = np.ones_like(intra)
        coefficients = dctn(_cut(_joined(self._blocks - prediction), _BLOCK), axes=(2, 3), norm="ortho")
        step = _twice(0.625 * 2 ** ((quantiser + self._finer) / 6))[..., None, None].astype(np.float32)
        rounding = np.where(_twice(intra), DEAD_ZONE[1], DEAD_ZONE[0])[..., None, None].astype(np.float32)
        levels = np.floor(np.abs(coefficients) / step + rounding)
        _drop_single(levels, intra)
        error = idctn(np.sign(coefficients) * levels * step, axes=(2, 3), norm="ortho")
        picture = np.round(np.clip(_joined(prediction) + _joined(error), 0, 255)).astype(np.float32)
        coded = levels.any((2, 3))
        sent = intra | _quarters(coded).any((1, 3))
        return picture, np.array(
            [
                np.mean((picture - self._picture) ** 2),
                np.count_nonzero(levels),
                np.log2(np.maximum(levels, 1)).sum(),
                coded.sum(),
                sent.sum(),
                self._motion_bits[sent & ~intra].sum(),
            ]
        )


def _drop_single(levels: Pixels, intra: NDArray[np.bool_]) -> None:
    """Zeroes blocks of a single 1 and macroblocks of two, as x264's decimation does, but for intra-coded ones."""
    highest, total = levels.max((2, 3)), levels.sum((2, 3))
    levels[(highest <= 1) & (total <= 1) & ~_twice(intra)] = 0
    total = levels.sum((2, 3))
    few = (_quarters(highest).max((1, 3)) <= 1) & (_quarters(total).sum((1, 3)) <= 2) & ~intra
    levels[_twice(few)] = 0


class _Samples:
    """A picture between its pixels: luma samples at halves by the six taps of H.264 8.4.2.2.1, at quarters by means."""

    def __init__(self, picture: Pixels) -> None:
        import numpy as np
        from scipy.ndimage import correlate1d

        taps = np.array([1, -5, 20, 20, -5, 1], np.float32) / 32
        whole = np.pad(picture, _MARGIN, mode="edge")
        across, down = (correlate1d(whole, taps, axis=axis, origin=-1, mode="nearest") for axis in (1, 0))
        both = correlate1d(across, taps, axis=0, origin=-1, mode="nearest")
        self._planes = np.stack([whole, across, down, both])

    def moved(self, motion: NDArray[np.int64]) -> Pixels:
        """Each macroblock from where its vector (x, y in quarters of a pixel) points."""
        found = self._at_halves(motion >> 1)
        if (motion & 1).any():
            found += self._at_halves((motion + 1) >> 1)
            found /= 2
        return found

    def _at_halves(self, motion: NDArray[np.int64]) -> Pixels:
        import numpy as np

        down, across = (np.arange(count) * _MACROBLOCK for count in motion.shape[:2])
        _, height, width = self._planes.shape
        within = np.arange(_MACROBLOCK)
        x, y = motion[..., 0, None, None], motion[..., 1, None, None]
        rows = np.clip(down[:, None, None, None] + within[:, None] + (y >> 1) + _MARGIN, 0, height - 1)
        columns = np.clip(across[None, :, None, None] + within + (x >> 1) + _MARGIN, 0, width - 1)
        planes = (x & 1) + 2 * (y & 1)
        found: Pixels = self._planes.reshape(-1)[(planes * height + rows) * width + columns]
        return found


def _motion(picture: Pixels, before: Pixels, samples: _Samples) -> NDArray[np.int64]:
    """The vector of each macroblock in quarters of a pixel, from that of a small picture, neighbours' or none."""
    import numpy as np

    vectors = _coarse_motion(_pooled(picture), _pooled(before))
    middle = np.median(vectors.reshape(-1, 2), axis=0).astype(np.int64)
    blocks = _cut(picture, _MACROBLOCK)

    def cost(motion: NDArray[np.int64]) -> NDArray[np.float64]:
        bits = [2 * np.log2(1 + np.abs(motion - usual)).sum(-1) for usual in (0, middle)]
        priced: NDArray[np.float64] = 4 * np.minimum(bits[0], bits[1] + 1)
        priced += np.abs(blocks - samples.moved(motion)).sum((2, 3))
        return priced

    best = cost(vectors)

    def consider(motion: NDArray[np.int64]) -> None:
        asked = cost(motion)
        is_better = asked < best
        best[is_better], vectors[is_better] = asked[is_better], motion[is_better]

    consider(np.zeros_like(vectors))
    consider(np.broadcast_to(middle, vectors.shape))
    for axis, step in ((1, 1), (0, 1), (1, -1), (0, -1)):
        consider(np.roll(vectors, step, axis=axis))
    for step in (8, 4, 4, 2, 1):
        centre = vectors.copy()
        ways = [(1, 0), (-1, 0), (0, 1), (0, -1)]
        ways += [(1, 1), (-1, 1), (1, -1), (-1, -1)] if step >= 4 else []
        for way in ways:
            consider(centre + step * np.array(way))
    return vectors


def _coarse_motion(picture: Pixels, before: Pixels) -> NDArray[np.int64]:
    """The best vector of each block of 4x4 in sixteenths of a pixel, among all of up to six pixels."""
    import numpy as np

    reach, (height, width) = 6, picture.shape
    around = np.pad(before, reach, mode="edge")
    best = np.full((height // 4, width // 4), np.inf)
    vectors = np.zeros((*best.shape, 2), np.int64)
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            there = around[reach + y : reach + y + height, reach + x : reach + x + width]
            asked = np.abs(picture - there).reshape(height // 4, 4, width // 4, 4).sum((1, 3))
            asked += 0.15 * (abs(x) + abs(y))
            is_better = asked < best
            best[is_better], vectors[is_better] = asked[is_better], (16 * x, 16 * y)
    return vectors


def _intra(picture: Pixels) -> tuple[Pixels, Pixels]:
    """Each 8x8 block by the best of its neighbours' mean, left and above; and the cost of each macroblock."""
    import numpy as np

    height, width = picture.shape
    blocks = _cut(picture, _BLOCK)
    left = np.pad(picture, ((0, 0), (1, 0)), mode="edge")[:, :-1:_BLOCK]
    above = np.pad(picture, ((1, 0), (0, 0)), mode="edge")[:-1:_BLOCK]
    left = left.reshape(height // _BLOCK, _BLOCK, -1).transpose(0, 2, 1)
    above = above.reshape(-1, width // _BLOCK, _BLOCK)
    mean = ((left.mean(-1) + above.mean(-1)) / 2)[..., None, None]
    modes = [np.broadcast_to(mode, blocks.shape) for mode in (mean, left[..., None], above[..., None, :])]
    costs = np.stack([np.abs(blocks - mode).sum((2, 3)) for mode in modes])
    best = np.choose(costs.argmin(0)[..., None, None], modes)
    return _cut(_joined(best), _MACROBLOCK), _quarters(costs.min(0)).sum((1, 3))


def _cut(picture: Pixels, side: int) -> Pixels:
    """Rows x columns x side x side."""
    height, width = picture.shape
    return picture.reshape(height // side, side, width // side, side).swapaxes(1, 2)


def _joined(blocks: Pixels) -> Pixels:
    rows, columns, side, _ = blocks.shape
    return blocks.swapaxes(1, 2).reshape(rows * side, columns * side)


def _pooled(picture: Pixels) -> Pixels:
    """A quarter as wide and high."""
    small: Pixels = picture.reshape(picture.shape[0] // 4, 4, picture.shape[1] // 4, 4).mean((1, 3))
    return small


def _twice(values: NDArray[Any]) -> NDArray[Any]:
    """The values of macroblocks, for each of their 8x8 blocks."""
    return values.repeat(2, axis=0).repeat(2, axis=1)


def _quarters(values: NDArray[Any]) -> NDArray[Any]:
    """The values of 8x8 blocks, as macroblocks' rows x 2 x columns x 2."""
    return values.reshape(values.shape[0] // 2, 2, values.shape[1] // 2, 2)
