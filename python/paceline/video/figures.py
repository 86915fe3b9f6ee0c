"""The figures of real video: the rows of video.parquet, and the group `video` of a flow's summary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from paceline import _core

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from paceline.video.judge import Judgement
    from paceline.video.run import Video

COLUMNS = {
    "time_s": ("s", "When the frame was captured."),
    "flow": ("", "The flow's name."),
    "stream": ("", "The stream's name, or its number."),
    "dejitter_ms": ("ms", "Size of the de-jitter buffer: from a frame's capture to its decoding."),
    "frame": ("", "Number of the frame, from 0."),
    "picture": ("", "Which picture of the clip it is, from 0."),
    "bytes": ("B", "Its slices as they were encoded, padding out."),
    "key": ("", "1 for a key frame, else 0."),
    "slices": ("slices", "Its slices, each a packet."),
    "lost_slices": ("slices", "Slices that never arrived, discarded at the sender in."),
    "late_slices": ("slices", "Slices that arrived after the frame's decoding."),
    "shown": ("", "1 if a new picture was shown, 0 if the last one was shown on."),
    "psnr_db": ("dB", "PSNR of the luma of what is shown against the source's picture; of equal pictures 100 dB."),
    "ssim": ("", "SSIM of the luma likewise."),
    "vmaf": ("", "VMAF likewise, with the first size of the de-jitter buffer."),
    "sender_ms": ("ms", "Time in send queue and pacer of the frame's slice that arrived last in time."),
    "link_queue_ms": ("ms", "Its wait in the queues of links."),
    "noise_ms": ("ms", "Delay that noise added to it."),
    "path_ms": ("ms", "Its serialisation and propagation."),
    "dejitter_wait_ms": ("ms", "From its arrival to the frame's decoding."),
}
"""Unit and definition of each column of video.parquet."""

PARTS = ("sender_ms", "link_queue_ms", "noise_ms", "path_ms")


def video_table(videos: Sequence[Video]) -> pa.Table:
    """A row for each frame, stream and size of the de-jitter buffer."""
    import pyarrow as pa

    parts = [pa.table(_columns(video, one, first)) for video in videos for first, one in _numbered(video)]
    table = pa.concat_tables(parts)
    fields = [
        table.schema.field(name).with_metadata({"unit": unit, "definition": definition})
        for name, (unit, definition) in COLUMNS.items()
    ]
    return pa.Table.from_arrays([table[name].combine_chunks() for name in COLUMNS], schema=pa.schema(fields))


def _numbered(video: Video) -> list[tuple[bool, Judgement]]:
    return [(place == 0, one) for place, one in enumerate(video.judgements)]


def _columns(video: Video, one: Judgement, first: bool) -> dict[str, Any]:
    import numpy as np

    sequence, count = video.sequence, len(video.sequence)
    numbers = range(count)
    vmaf = np.array(video.vmaf if first and video.vmaf else [np.nan] * count, np.float32)
    waits, parts = last_in_time(video, one.dejitter_s)
    return {
        "time_s": np.asarray(video.arrivals.captured) / 1e9,
        "flow": [video.stream["flow"]] * count,
        "stream": [video.stream["stream"]] * count,
        "dejitter_ms": np.full(count, one.dejitter_s * 1e3),
        "frame": np.arange(count, dtype=np.int32),
        "picture": np.array([video.clip.index(frame, video.stream["repeat"]) for frame in numbers], np.int32),
        "bytes": np.array([sequence.size(frame) for frame in numbers], np.int32),
        "key": np.array(sequence.keys, np.int8),
        "slices": np.array([sequence.count(frame) for frame in numbers], np.int32),
        "lost_slices": one.lost,
        "late_slices": one.late,
        "shown": one.shown.astype(np.int8),
        "psnr_db": one.psnr_db,
        "ssim": one.ssim,
        "vmaf": _absent(vmaf),
        **{name: _absent(parts[:, place]) for place, name in enumerate(PARTS)},
        "dejitter_wait_ms": _absent(waits),
    }


def _absent(values: NDArray[Any]) -> pa.Array:
    """Absent is absent, never NaN."""
    import pyarrow as pa

    return pa.array(values, from_pandas=True)


def last_in_time(video: Video, dejitter_s: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each frame's slice that arrived last in time: its wait for the decoding, and the parts before that, in ms."""
    import numpy as np

    arrivals = video.arrivals
    waits, parts = np.full(len(video.sequence), np.nan), np.full((len(video.sequence), len(PARTS)), np.nan)
    in_time = np.where(arrivals.late_ns <= dejitter_s * 1e9, arrivals.late_ns, -1.0)
    for frame in range(len(video.sequence)):
        begin, end = arrivals.starts[frame], arrivals.starts[frame + 1]
        if end == begin:
            continue
        last = begin + int(np.argmax(in_time[begin:end]))
        if in_time[last] >= 0:
            waits[frame] = dejitter_s * 1e3 - in_time[last] / 1e6
            parts[frame] = arrivals.parts[last] / 1e6
            if np.isnan(parts[frame]).all():
                parts[frame] = (np.nan, np.nan, np.nan, in_time[last] / 1e6)
    return waits, parts


def add_video(summary: dict[str, Any], videos: Sequence[Video], scenario: dict[str, Any]) -> None:
    """Fills in the group `video` of the flows of a summary, and their PSNR."""
    warmup, duration = seconds(scenario["warmup"]), seconds(scenario["duration"])
    for name, flow in summary["flows"].items():
        own = [video for video in videos if video.stream["flow"] == name]
        if own:
            keys = scenario["flows"][name]
            begin, end = seconds(keys.get("start", "0s")), seconds(keys.get("stop", scenario["duration"]))
            flow["video"] = video_summary(own, (max(warmup, begin), min(duration, end)))
            flow["psnr_db"] = flow["video"]["psnr_db"]


def seconds(text: str) -> float:
    """A time of a resolved scenario in seconds."""
    found = _core.quantity(text)
    return found[0] if found is not None else float("nan")


def video_summary(videos: Sequence[Video], window: tuple[float, float]) -> dict[str, Any]:
    """The group `video` of one flow's summary, over frames captured in the window whose decoding lies in it."""
    import numpy as np

    begin, end = window
    longest = max(one.dejitter_s for video in videos for one in video.judgements)
    counted = [
        (video.arrivals.captured >= begin * 1e9) & (video.arrivals.captured <= (end - longest) * 1e9)
        for video in videos
    ]
    firsts = [video.judgements[0] for video in videos]

    def over(values: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate([one[counts] for one, counts in zip(values, counted, strict=True)])

    slices = over([np.diff(video.arrivals.starts) for video in videos])
    lost, late = over([one.lost for one in firsts]), over([one.late for one in firsts])
    shown, psnr = over([one.shown for one in firsts]), over([one.psnr_db for one in firsts])
    gaps = [
        gap
        for video, one, counts in zip(videos, firsts, counted, strict=True)
        for gap in freezes(one.shown[counts], 1 / video.stream["fps"])
    ]
    vmaf = [np.array(video.vmaf) for video in videos if video.vmaf is not None]
    delays = [last_in_time(video, one.dejitter_s) for video, one in zip(videos, firsts, strict=True)]
    waits, parts = over([waits for waits, _ in delays]), over([parts for _, parts in delays])
    sizes = [one.dejitter_s for one in videos[0].judgements]
    return {
        "dejitter_ms": sizes[0] * 1e3,
        "psnr_db": _mean(psnr),
        "psnr_p10_db": float(np.percentile(psnr, 10)) if len(psnr) else None,
        "ssim": _mean(over([one.ssim for one in firsts])),
        "vmaf": _mean(over(vmaf)) if len(vmaf) == len(videos) else None,
        "frames": len(psnr),
        "shown": int(shown.sum()),
        "damaged": int((shown & (lost + late > 0)).sum()),
        "freezes": len(gaps),
        "freeze_time_s": float(sum(gaps)),
        "lost_ratio": _ratio(lost, slices),
        "late_ratio": _ratio(late, slices),
        "end_to_end_ms": sizes[0] * 1e3 if np.isfinite(waits).any() else None,
        **{name: _mean(parts[:, place]) for place, name in enumerate(PARTS)},
        "dejitter_wait_ms": _mean(waits),
        "by_dejitter": {
            f"{size * 1e3:g}": _mean(over([_of_size(video, size).psnr_db for video in videos])) for size in sizes
        },
    }


def _of_size(video: Video, size: float) -> Judgement:
    return next((one for one in video.judgements if one.dejitter_s == size), video.judgements[0])


def freezes(shown: NDArray[np.bool_], interval_s: float) -> list[float]:
    """The gaps between new pictures that are freezes, in seconds (webrtc-stats, of the nominal interval)."""
    import numpy as np

    least = max(3 * interval_s, interval_s + 0.15)
    if not shown.any():
        return [len(shown) * interval_s] if len(shown) * interval_s >= least else []
    gaps = np.diff(np.flatnonzero(shown), append=len(shown)) * interval_s
    return [float(gap) for gap in gaps if gap >= least - 1e-9]


def _mean(values: NDArray[Any]) -> float | None:
    import numpy as np

    known = values[np.isfinite(values)]
    return float(np.mean(known, dtype=np.float64)) if len(known) else None


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> float | None:
    return float(part.sum() / whole.sum()) if whole.sum() else None
