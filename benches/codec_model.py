"""How near source kind codec-model comes to x264, at rates that it was not fitted to, and on clips that it was not.

Each clip is fitted at 0.02, 0.15 and 1.2 bit per pixel, and judged at other rates and at one that changes every second.
The second clip of a generator is judged by the fit of the first as well. Further clips are named on the command line,
and folders of tables of rate, QP and PSNR as those of syncodecs: codec_model.py [FILE[:WIDTHxHEIGHT] | FOLDER]...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from paceline.video.clips import Clip, clip_of
from paceline.video.model import BITS_PER_PIXEL, SETTLED, coded, fit, predicted

RATES = (0.03, 0.06, 0.1, 0.3, 0.6)
CHANGING = (0.1, 0.4, 0.05, 0.8, 0.2)
FRAMES = 150
LINES = {"360p": 640 * 360, "720p": 1280 * 720}
"""Pixels of the pictures of tables, by what their names say."""


def clips(files: list[str]) -> Iterator[tuple[str, Clip]]:
    """The drawn clips, the first of each generator first, and the files."""
    base: dict[str, Any] = {"path": None, "frames": FRAMES}
    for generator in ("newsreader", "sports"):
        for seed, width, height in ((1, 352, 288), (7, 352, 288), (8, 640, 360)):
            size = {"generator": generator, "seed": seed, "width": width, "height": height}
            yield f"{generator} {seed} {width}x{height}", clip_of(base | size)
    for named in files:
        file, _, size = named.partition(":")
        width, height = (int(side) for side in size.split("x")) if size else (None, None)
        yield f"{Path(file).stem} {size}", clip_of({"path": file, "frames": FRAMES, "width": width, "height": height})


def judge_clips(files: list[str]) -> None:
    """Prints what is fitted to each clip, and by how much it is wrong."""
    levels, frames, others = [], [], []
    first: dict[str, dict[str, float]] = {}
    for name, clip in clips(files):
        params = fit(clip)
        generator, seed = name.split(" ")[:2]
        first.setdefault(generator, params)
        print(name, {key: round(value, 2) for key, value in params.items()})
        for rate in (*RATES, None):
            bits, psnr = coded(
                clip, lambda frame, rate=rate: rate or CHANGING[frame // 30], range(SETTLED, len(clip.pictures))
            )
            error = predicted(params, bits) - psnr
            levels.append(abs(float(np.mean(error))))
            frames.append(float(np.mean(np.abs(error))))
            print(
                f"  {rate or 'changing'} bit/pixel: x264 {np.mean(psnr):.1f} dB, model {np.mean(error):+.2f} dB",
                flush=True,
            )
            if seed == "7":
                others.append(abs(float(np.mean(predicted(first[generator], bits) - psnr))))
    print(f"mean absolute error of a sequence's mean: {np.mean(levels):.2f} dB by the clip's own fit")
    print(
        f"  {np.mean(others):.2f} dB by the fit of another clip of its generator; of a frame {np.mean(frames):.2f} dB"
    )


def judge_tables(folder: Path) -> None:
    """The same for recorded tables: a parabola through three rates of each clip, judged at the others."""
    found = sorted((re.sub(r"_\d+$", "", file.stem), file) for file in folder.glob("*.txt"))
    errors = []
    for name, files in groupby(found, key=lambda one: one[0]):
        points = []
        for _, file in files:
            rows = [line.split() for line in file.read_text().splitlines() if not line.startswith("%")][SETTLED:]
            bits = float(np.mean([int(row[4]) for row in rows])) * 8 / LINES[name.rpartition("_")[2]]
            points.append((bits, float(np.mean([float(row[3]) for row in rows]))))
        points.sort()
        fitted = [points[0], points[len(points) // 2], points[-1]]
        curvature, slope, psnr = np.polyfit(
            [np.log2(bits / BITS_PER_PIXEL) for bits, _ in fitted], [psnr for _, psnr in fitted], 2
        )
        params = {"psnr": float(psnr), "slope": float(slope), "curvature": float(curvature)}
        rest = [point for point in points if point not in fitted]
        errors += [abs(float(predicted(params, [bits])[0]) - psnr) for bits, psnr in rest]
        print(name, {key: round(value, 2) for key, value in params.items()})
    print(f"mean absolute error over the other rates of these tables: {np.mean(errors):.2f} dB")


if __name__ == "__main__":
    tables = [Path(named) for named in sys.argv[1:] if Path(named).is_dir()]
    for folder in tables:
        judge_tables(folder)
    judge_clips([named for named in sys.argv[1:] if not Path(named).is_dir()])
