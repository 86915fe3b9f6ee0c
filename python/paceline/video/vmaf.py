"""VMAF, by the ffmpeg that the package imageio-ffmpeg brings, run as a process of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paceline.video import VideoError
from paceline.video.decoder import Decoder

if TYPE_CHECKING:
    from paceline.video.clips import Clip
    from paceline.video.judge import Arrivals
    from paceline.video.sequence import Sequence


def vmaf_of(clip: Clip, stream: dict[str, Any], sequence: Sequence, arrivals: Arrivals) -> list[float]:
    """VMAF of each picture shown with the first size of the de-jitter buffer, against the source's.

    Raises:
        VideoError: imageio-ffmpeg is not installed, or its ffmpeg fails.
    """
    program = ffmpeg()
    if not len(sequence):
        return []
    with tempfile.TemporaryDirectory() as folder:
        seen, true, log = (Path(folder) / name for name in ("seen.yuv", "true.yuv", "log.json"))
        with seen.open("wb") as seen_file, true.open("wb") as true_file:
            for frame, picture in enumerate(_shown(clip, stream, sequence, arrivals)):
                seen_file.write(picture)
                true_file.write(clip.pictures[clip.index(frame, stream["repeat"])].tobytes())
        width, height = clip.size
        raw = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", f"{width}x{height}", "-r", str(stream["fps"])]
        compare = [*raw, "-i", seen.name, *raw, "-i", true.name, "-lavfi", f"libvmaf=log_fmt=json:log_path={log.name}"]
        command = [program, "-hide_banner", "-loglevel", "error", "-nostdin", *compare, "-f", "null", "-"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0 or not log.is_file():
            raise VideoError(f"vmaf: ffmpeg failed: {done.stderr.strip() or done.returncode}")
        frames = json.loads(log.read_text())["frames"]
    return [float(frame["metrics"]["vmaf"]) for frame in frames]


def ffmpeg() -> str:
    """The program that computes VMAF."""
    try:
        import imageio_ffmpeg
    except ImportError:
        raise VideoError(
            "source key vmaf: found no ffmpeg with libvmaf, expected imageio-ffmpeg: pip install 'paceline[vmaf]'"
        ) from None
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _shown(clip: Clip, stream: dict[str, Any], sequence: Sequence, arrivals: Arrivals) -> Any:
    """The bytes of each picture shown, in I420."""
    import numpy as np

    picture = np.full(clip.pictures.shape[1:], 128, np.uint8)
    picture[: clip.size[1]] = 16
    decoder = Decoder(sequence.parameter_sets)
    in_time = arrivals.late_ns <= stream["dejitter"][0] * 1e9
    for frame in range(len(sequence)):
        kept = in_time[arrivals.starts[frame] : arrivals.starts[frame + 1]]
        slices = [one for one, keep in zip(sequence.slices(frame), kept, strict=True) if keep]
        decoded = decoder.decode(frame, slices)
        picture = picture if decoded is None else decoded.to_ndarray()
        yield picture.tobytes()
