"""How near source kind codec-model comes to x264: by a fit with x264, and estimated from a clip's pixels without it.

A fit is judged at other rates than those it was made at, and at one that changes every second; an estimate at all. The
judged frames are those after the first refresh, of each clip played forward and back. Further clips are named on the
command line, and folders of tables of rate, QP and PSNR as those of syncodecs:

    codec_model.py [FILE[:WIDTHxHEIGHT] | FOLDER]...
    codec_model.py --calls | --judge FILE

With --calls, calls over slow links are run with source kind codec instead. The results of x264 are printed with the
keys of codec-model for each clip: that is tests/codec_model_x264.json. --judge FILE prints how near the model comes
to such a file, without x264. Clips that are files, carphone_pristine.mp4 and bigbuckbunny.mp4, are read from
PACELINE_DATA/clips.

With --weights, what bits the estimate's counts are worth is fitted anew to all these clips, and for each origin of
clips to the others.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

import paceline
from paceline.video.clips import Clip, clip_of
from paceline.video.estimate import WEIGHTS, Estimate, estimate
from paceline.video.model import BITS_PER_PIXEL, coded, estimated, fit, predicted, settled

RATES = (0.03, 0.06, 0.1, 0.3, 0.6)
CHANGING = (0.1, 0.4, 0.05, 0.8, 0.2)
FRAMES = 150
BEGINNING = 30
"""Frames of a recorded table that are left out."""
LINES = {"360p": 640 * 360, "720p": 1280 * 720}
"""Pixels of the pictures of tables, by what their names say."""


PRESETS: dict[str, dict[str, Any]] = {
    "newsreader": {"generator": "newsreader", "seed": 1},
    "sports": {"generator": "sports", "seed": 1},
    "carphone": {"file": "clips/carphone_pristine.mp4"},
    "bigbuckbunny": {"file": "clips/bigbuckbunny.mp4", "width": 352, "height": 288},
}
"""Sources of kind codec that presets were fitted to. Calls with them were looked at while the model was made."""
HELD_OUT: dict[str, dict[str, Any]] = {
    "newsreader 7": {"generator": "newsreader", "seed": 7},
    "sports 7": {"generator": "sports", "seed": 7},
    "bigbuckbunny 176x144": {"file": "clips/bigbuckbunny.mp4", "width": 176, "height": 144},
    "carphone 352x288": {"file": "clips/carphone_pristine.mp4", "width": 352, "height": 288},
    "newsreader 8 640x360": {"generator": "newsreader", "seed": 8, "width": 640, "height": 360},
    "sports 8 640x360": {"generator": "sports", "seed": 8, "width": 640, "height": 360},
}
"""Others. Calls with them, at other rates, were run when the model was done."""
CALLS = ((PRESETS, (100, 150, 250, 500, 1000)), (HELD_OUT, (100, 200, 350, 700)))
LOWEST_LINK = 150
"""Rate of a link in kbit/s up to which few frames of SCReAM, whose least rate is 300 kbit/s, arrive whole."""
CONTROLLERS: dict[str, dict[str, Any]] = {
    "scream": {
        "profile": "robust",
        "delay_span": "0ms",
        "delay_target_packets": 0,
        "delay_noise_gain": 0,
        "trend_least": "0ms",
        "loss_deviations": 0,
        "l4s_growth_interval": "0ms",
        "acked_head_room": 1.25,
        "ramp_up_speed": "10Mbps",
        "ramp_up_scale": 1,
        "ramp_up_part": 0,
        "ramp_up_span": "0ms",
        "ramp_up_reports": False,
        "discard_frames": 0,
    },
    "gcc": {"profile": "draft"},
}
"""The controllers of the recorded calls: `robust` without the rules that came after the recordings."""
DELAYS_MS = (19, 20, 21)
"""Delay of the link: a call is made with each, and the mean counts, of x264 as of the model, whose seed is different in
each. Single calls of x264 over links that are too slow differ by up to 8 dB, for a packet more or less tells whether a
key frame arrives whole."""


def call(source: dict[str, Any], controller: str, link_kbps: int, delay_ms: int = 20) -> paceline.Result:
    """A call of 30 s over one link with a queue of 300 ms, and a de-jitter buffer of 200 ms."""
    queue = {"kind": "droptail", "limit": "300ms"}
    chosen = {"kind": controller} | CONTROLLERS[controller]
    flow = {"controller": chosen, "source": source, "path": ["bottleneck"]}
    return paceline.run(
        {
            "name": "a call over a slow link",
            "duration": "30s",
            "warmup": "0s",
            "seed": delay_ms - DELAYS_MS[0] + 1,
            "links": {"bottleneck": {"rate": f"{link_kbps}kbps", "delay": f"{delay_ms}ms", "queue": queue}},
            "flows": {"call": flow | {"playout": {"kind": "fixed", "delay": "200ms"}}},
        }
    )


def made_kbps(result: paceline.Result) -> float:
    """Payload rate of the frames that the source made."""
    return float(result.summary["flows"]["call"]["sampled"]["frame_bytes"]) * 8 * 30 / 1000


def record_calls() -> None:
    """Prints what x264 gives, as JSON."""
    found: dict[str, Any] = {"clips": {}, "calls": []}
    for sources, links in CALLS:
        for name, source in sources.items():
            if sources is PRESETS:
                found["clips"][name] = {"preset": name}
            else:
                file = source.get("file")
                path = None if file is None else str(Path(os.environ["PACELINE_DATA"]) / file)
                fitted = fit(clip_of({"path": path, "frames": 300} | source))
                sides = {side: int(fitted.pop(side)) for side in ("width", "height")}
                found["clips"][name] = {key: round(value, 2) for key, value in fitted.items()} | sides
            for controller in CONTROLLERS:
                for link in links:
                    results = [call({"kind": "codec"} | source, controller, link, delay) for delay in DELAYS_MS]
                    psnr = [round(result.summary["flows"]["call"]["video"]["psnr_db"], 2) for result in results]
                    row = [name, controller, link, psnr, round(float(np.mean([*map(made_kbps, results)])), 1)]
                    found["calls"].append(row)
                    print(*row, file=sys.stderr)
    calls = ",\n".join(json.dumps(row) for row in found["calls"])
    keys = ",\n".join(f"{json.dumps(name)}: {json.dumps(keys)}" for name, keys in found["clips"].items())
    print(f'{{"clips": {{\n{keys}\n}}, "calls": [\n{calls}\n]}}')


def judged(clips: dict[str, Any], calls: list[list[Any]]) -> Iterator[tuple[list[Any], float, float]]:
    """Each recorded call, with the model's error in dB and its bytes over x264's."""
    for row in calls:
        name, controller, link, psnr, made = row
        results = [call({"kind": "codec-model"} | clips[name], controller, link, delay) for delay in DELAYS_MS]
        modelled = np.mean([result.summary["flows"]["call"]["psnr_db"] for result in results])
        yield row, float(modelled - np.mean(psnr)), float(np.mean([made_kbps(result) for result in results])) / made


def judge_calls(table: str) -> None:
    """Prints by how much the model is off in each call of a file of `record_calls`."""
    recorded = json.loads(Path(table).read_text())
    errors: dict[str, list[float]] = {}
    for (name, controller, link, psnr, _), error, bytes_over in judged(recorded["clips"], recorded["calls"]):
        kind = "presets" if name in PRESETS else "held out"
        errors.setdefault(f"{kind}, {'over' if link > LOWEST_LINK else 'up to'} {LOWEST_LINK} kbit/s", []).append(error)
        print(
            f"{name} {controller} {link} kbit/s: x264 {np.mean(psnr):.1f} dB ({min(psnr):.1f} to {max(psnr):.1f}), "
            f"model {error:+.1f} dB, bytes x{bytes_over:.2f}"
        )
    errors["all"] = [error for values in errors.values() for error in values]
    for kind, values in errors.items():
        sizes = np.abs(values)
        print(
            f"{kind}: {np.sum(sizes <= 1.5)} of {len(values)} within 1.5 dB, mean {np.mean(sizes):.2f}, "
            f"worst {np.max(sizes):.1f} dB"
        )


def clips(files: list[str]) -> Iterator[tuple[str, Clip]]:
    """The drawn clips and the files; a name begins with the clip's origin."""
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
    """Prints by how much a fit and an estimate of each clip are wrong."""
    errors: dict[str, list[float]] = {"fit": [], "fit, single frames": [], "estimate": [], "another clip's fit": []}
    first: dict[str, dict[str, float]] = {}
    for name, clip in clips(files):
        by_fit, by_estimate = fit(clip), estimated(clip)
        generator, seed = name.split(" ")[:2]
        other = first.setdefault(generator, by_fit)
        print(name, {key: round(value, 2) for key, value in by_fit.items()})
        for rate in (*RATES, None):
            bits, psnr = coded(clip, lambda frame, rate=rate: rate or CHANGING[frame // 30 % 5], settled(clip))
            error = predicted(by_fit, bits) - psnr
            means = {"fit": np.mean(error), "estimate": np.mean(predicted(by_estimate, bits) - psnr)}
            if seed == "7":
                means["another clip's fit"] = np.mean(predicted(other, bits) - psnr)
            for kind, value in means.items():
                errors[kind].append(abs(float(value)))
            errors["fit, single frames"].append(float(np.mean(np.abs(error))))
            said = ", ".join(f"{kind} {value:+.2f} dB" for kind, value in means.items())
            print(f"  {rate or 'changing'} bit/pixel: x264 {np.mean(psnr):.1f} dB, {said}", flush=True)
    for kind, values in errors.items():
        print(f"mean absolute error, {kind}: {np.mean(values):.2f} dB, worst {np.max(values):.2f} dB")


def fit_weights(files: list[str]) -> None:
    """Prints the weights that fit all clips, and how wrong those are that were fitted to clips of other origins."""
    found: list[tuple[str, Estimate, list[tuple[float, float]]]] = []
    for name, clip in clips(files):
        runs = [coded(clip, lambda _, rate=rate: rate, settled(clip)) for rate in RATES]
        points = [(float(np.mean(bits)), float(np.mean(psnr))) for bits, psnr in runs]
        found.append((name.split(" ")[0], estimate(clip), points))
    errors = []
    for origin in dict.fromkeys(origin for origin, *_ in found):
        weights = _weights([one for one in found if one[0] != origin])
        here = [
            abs(one.at(bits, weights) - psnr) for own, one, points in found if own == origin for bits, psnr in points
        ]
        print(f"{origin}: {np.mean(here):.2f} dB by weights of the other origins", flush=True)
        errors += here
    print(f"mean absolute error on origins not fitted to: {np.mean(errors):.2f} dB, worst {np.max(errors):.2f} dB")
    print("weights of all:", tuple(round(weight, 2) for weight in _weights(found)))


def _weights(found: list[tuple[str, Estimate, list[tuple[float, float]]]]) -> tuple[float, ...]:
    """The bits of each count with which estimates come nearest; an origin counts by the root of its clips."""
    origins = [origin for origin, *_ in found]

    def wrong(logarithms: np.ndarray) -> np.ndarray:
        weights = tuple(np.exp(logarithms))
        return np.array(
            [
                (one.at(bits, weights) - psnr) / origins.count(origin) ** 0.5
                for origin, one, points in found
                for bits, psnr in points
            ]
        )

    solved = least_squares(wrong, np.log(WEIGHTS), bounds=(np.log(0.01), np.log(100)), loss="soft_l1")
    return tuple(float(weight) for weight in np.exp(solved.x))


def judge_tables(folder: Path) -> None:
    """The same for recorded tables: a parabola through three rates of each clip, judged at the others."""
    found = sorted((re.sub(r"_\d+$", "", file.stem), file) for file in folder.glob("*.txt"))
    errors = []
    for name, files in groupby(found, key=lambda one: one[0]):
        points = []
        for _, file in files:
            rows = [line.split() for line in file.read_text().splitlines() if not line.startswith("%")][BEGINNING:]
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
    named = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    files = [one for one in named if not Path(one).is_dir()]
    for folder in (Path(one) for one in named if Path(one).is_dir()):
        judge_tables(folder)
    if "--calls" in sys.argv:
        record_calls()
    elif "--judge" in sys.argv:
        judge_calls(named[-1])
    elif "--weights" in sys.argv:
        fit_weights(files)
    else:
        judge_clips(files)
