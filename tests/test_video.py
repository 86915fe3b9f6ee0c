"""Real video: an encoder in the loop, packets that are lost or late, and pictures that are judged after the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paceline
from paceline.figures import figures
from processes import PATIENCE_S

av = pytest.importorskip("av", reason="the extra paceline[video] is not installed")

SCENARIO: dict[str, Any] = {
    "name": "a call with pictures",
    "duration": "4s",
    "warmup": "1s",
    "links": {"bottleneck": {"rate": "2Mbps", "delay": "20ms", "queue": {"kind": "droptail", "limit": "300ms"}}},
    "flows": {
        "call": {
            "controller": {"kind": "scream", "target_bitrate_start": "400kbps", "target_bitrate_max": "400kbps"},
            "source": {"kind": "codec", "generator": "newsreader", "width": 176, "height": 144, "frames": 40},
            "path": ["bottleneck"],
        }
    },
}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("PACELINE_CACHE", str(folder))
    return folder


def run(**overrides: Any) -> paceline.Result:
    return paceline.run(SCENARIO, overrides={path.replace("__", "."): value for path, value in overrides.items()})


def seen(result: paceline.Result) -> dict[str, Any]:
    group: dict[str, Any] = result.summary["flows"]["call"]["video"]
    return group


def test_what_arrives_whole_looks_as_it_was_encoded() -> None:
    result = run()
    call = seen(result)
    assert list(call) == list(figures("flows.NAME.video"))
    # Frames of the last 200 ms are not decoded within the run.
    assert (call["frames"], call["shown"], call["damaged"], call["freezes"]) == (85, 85, 0, 0)
    assert (call["lost_ratio"], call["late_ratio"]) == (0, 0)
    assert 36 < call["psnr_db"] < 50
    assert 0.9 < call["ssim"] < 1
    parts = sum(call[name] for name in ("sender_ms", "link_queue_ms", "noise_ms", "path_ms", "dejitter_wait_ms"))
    assert parts == pytest.approx(call["end_to_end_ms"]) == 200
    # The encoder follows its target: 400 kbit/s less the headers.
    table = result.video
    assert table is not None
    assert table["bytes"].iloc[30:].mean() * 8 * 30 == pytest.approx(400e3, rel=0.1)


def test_psnr_and_ssim_are_those_of_their_definitions() -> None:
    from paceline.video.clips import clip_from
    from paceline.video.drawn import newsreader
    from paceline.video.quality import Meter

    pictures = newsreader(1, (64, 48), 2)
    meter = Meter(clip_from(pictures))
    one, other = (av.VideoFrame.from_ndarray(picture, format="yuv420p") for picture in pictures)
    error = np.mean((pictures[0, :48].astype(float) - pictures[1, :48]) ** 2)
    psnr, ssim = meter.compare(other, 0)
    assert psnr == pytest.approx(10 * np.log10(255**2 / error), abs=0.006)
    assert 0 < ssim < 1
    assert meter.compare(one, 0) == (100, 1)
    assert meter.compare(None, 0)[0] < 13


def test_a_lost_packet_damages_its_slice_until_it_is_refreshed() -> None:
    whole, lossy = run(), run(links__bottleneck__loss={"kind": "bernoulli", "ratio": 0.02})
    call = seen(lossy)
    assert 0.005 < call["lost_ratio"] < 0.04
    assert call["psnr_db"] < seen(whole)["psnr_db"] - 0.3
    table = lossy.video
    assert table is not None
    first = int(table.index[table["lost_slices"] > 0][0])
    assert table["psnr_db"].iloc[first] < table["psnr_db"].iloc[first - 1] - 0.2


def test_frames_later_than_the_buffer_count_as_lost_and_freeze() -> None:
    call = seen(run(flows__call__playout={"kind": "fixed", "delay": "15ms"}))
    assert (call["dejitter_ms"], call["shown"]) == (15, 0)
    # A packet that is under way when the run ends has not arrived: it counts as lost.
    assert call["late_ratio"] + call["lost_ratio"] == pytest.approx(1)
    assert call["late_ratio"] > 0.99
    assert (call["freezes"], call["end_to_end_ms"]) == (1, None)
    assert call["freeze_time_s"] == pytest.approx(call["frames"] / 30)
    assert call["psnr_db"] < 12


def test_a_buffer_that_shows_nothing_is_said() -> None:
    for size in ("0ms", "15ms"):
        (warning,) = run(flows__call__source__dejitter=[size], duration="1s", warmup="0s").warnings
        assert f"no frame arrived within {size.removesuffix('ms')} ms of its capture" in warning
    assert run(duration="1s", warmup="0s").warnings == []


def test_sizes_of_the_buffer_are_judged_from_one_run() -> None:
    noise = {"kind": "uniform", "max": "60ms"}
    sizes = ["200ms", "0ms", "80ms", "60ms"]
    result = run(links__bottleneck__noise=noise, flows__call__source__dejitter=sizes)
    psnr = seen(result)["by_dejitter"]
    assert list(psnr) == ["200", "0", "80", "60"]
    assert psnr["0"] < psnr["60"] < psnr["80"] < psnr["200"]
    assert np.array_equal(result.videos[0].judged(0.06).psnr_db, result.videos[0].judgements[3].psnr_db)
    assert np.mean(result.videos[0].judged(0.07).psnr_db) > np.mean(result.videos[0].judged(0.06).psnr_db)


def test_sizes_with_the_same_slices_in_time_are_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from paceline.video import run as running
    from paceline.video.judge import judge

    decoded: list[float] = []

    def counted(clip: Any, repeat: str, sequence: Any, arrivals: Any, dejitter: float, told: Any) -> Any:
        decoded.append(dejitter)
        return judge(clip, repeat, sequence, arrivals, dejitter, told)

    monkeypatch.setattr(running, "judge", counted)
    loss = {"kind": "bernoulli", "ratio": 0.02}
    video = run(links__bottleneck__loss=loss, flows__call__source__dejitter=["250ms", "5ms", "1s"]).videos[0]
    assert decoded == [0.25, 0.005], "all that arrives at all does so within 250 ms"
    again = judge(video.clip, video.stream["repeat"], video.sequence, video.arrivals, 1.0)
    assert video.judgements[2].dejitter_s == 1.0
    assert np.array_equal(video.judgements[2].psnr_db, again.psnr_db)
    assert np.array_equal(video.judgements[2].lost, again.lost)
    assert np.array_equal(video.judgements[2].late, again.late)


def test_the_report_shows_psnr_over_time_and_the_worst_moments() -> None:
    result = run(links__bottleneck__down=[["1500ms", "2s"]])
    assert seen(result)["freezes"] == 1
    assert 0.4 < seen(result)["freeze_time_s"] < 1
    files = result.files(plots=["psnr", "received"])
    assert files["plots/psnr.svg"].startswith(b"<?xml")
    assert files["plots/received.png"].startswith(b"\x89PNG")
    (axes,) = result.plot("psnr").axes
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("dB; shaded down to the worst frame", "time, s")
    assert axes.get_xlim() == (0, 4)
    worst = result.videos[0].judgements[0].worst
    table = result.video
    assert table is not None
    assert worst[0].psnr_db == pytest.approx(table["psnr_db"].min())
    assert len({int(result.videos[0].arrivals.captured[one.frame] // 1e9) for one in worst}) == 3


def test_the_same_seed_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACELINE_CACHE_MB", "0")
    loss = {"kind": "bernoulli", "ratio": 0.02}
    one, other = (run(links__bottleneck__loss=loss).files() for _ in range(2))
    assert one["video.parquet"] == other["video.parquet"]
    assert run(links__bottleneck__loss=loss, seed=2).files()["video.parquet"] != one["video.parquet"]


@pytest.mark.parametrize(
    "flow",
    [
        {"transport": "tcp", "controller": {"kind": "newreno"}},
        {"transport": "dccp", "controller": {"kind": "ccid3"}},
    ],
)
def test_every_transport_that_knows_frames_carries_pictures(flow: dict[str, Any]) -> None:
    # A loss-based window fills the queue of 300 ms: a buffer of 200 ms would judge that, and not what is carried.
    source = SCENARIO["flows"]["call"]["source"] | {"dejitter": ["500ms"]}
    flows = {"call": {"path": ["bottleneck"], "source": source} | flow}
    call = seen(paceline.run(SCENARIO | {"flows": flows, "duration": "10s", "warmup": "5s"}))
    assert call["shown"] > 0.5 * call["frames"]
    assert call["psnr_db"] > 30


def clip_file(path: Path, sizes: list[tuple[int, int]], times: list[int], *, sound: bool = False) -> Path:
    """A file whose frames have these sizes and come at these times, in thirtieths of a second."""
    from fractions import Fraction

    with av.open(str(path), "w") as container:
        if sound:
            stream = container.add_stream("pcm_s16le", rate=8000, layout="mono")
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
            frame.rate = 8000
            container.mux(stream.encode(frame))
            return path
        stream = container.add_stream("ffv1", rate=30)
        stream.width, stream.height = sizes[0]
        stream.pix_fmt, stream.codec_context.time_base = "yuv420p", Fraction(1, 30)
        for number, time in enumerate(times):
            width, height = sizes[number % len(sizes)]
            picture = np.full((height, width, 3), 40 + number, np.uint8)
            picture[: height // 2, : width // 2] = 200
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
            frame.pts = time
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def source(file: Path, **keys: Any) -> dict[str, Any]:
    return {"kind": "codec", "file": str(file), **keys}


def test_a_clip_of_odd_size_is_cropped_and_any_is_scaled_to_fill(tmp_path: Path) -> None:
    file = clip_file(tmp_path / "odd.mkv", [(99, 75)], list(range(10)))
    for keys, size in (({}, (98, 74)), ({"width": 64, "height": 64}, (64, 64)), ({"width": 176}, (176, 74))):
        result = run(flows__call__source=source(file, **keys), duration="1s", warmup="0s")
        assert result.videos[0].clip.size == size
        assert (result.warnings, len(result.videos[0].clip.pictures)) == ([], 10)
        assert seen(result)["psnr_db"] > 35


def test_a_clip_of_variable_rate_is_taken_frame_by_frame_and_says_so(tmp_path: Path) -> None:
    file = clip_file(tmp_path / "uneven.mkv", [(64, 64)], [0, 1, 2, 3, 9, 10, 11])
    result = run(flows__call__source=source(file), duration="1s", warmup="0s")
    assert len(result.videos[0].clip.pictures) == 7
    (warning,) = result.warnings
    assert "intervals between frames are from 33 to 200 ms" in warning


def test_a_truncated_clip_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    file = clip_file(tmp_path / "whole.mkv", [(352, 288)], list(range(60)))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    used = len(run(flows__call__source=source(file), duration="1s", warmup="0s").videos[0].clip.pictures)
    assert 10 < used < 60
    file.write_bytes(content[:200])
    with pytest.raises(paceline.PacelineError, match=r"whole\.mkv: (cannot be read as video|found no p)"):
        run(flows__call__source=source(file), duration="1s", warmup="0s")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sound.wav", None, r"sound\.wav: found no pictures, expected a file with video"),
        ("text.mp4", b"no video at all", r"text\.mp4: cannot be read as video"),
    ],
)
def test_a_file_without_pictures_is_refused(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    file = tmp_path / name
    if content is None:
        clip_file(file, [], [], sound=True)
    else:
        file.write_bytes(content)
    with pytest.raises(paceline.PacelineError, match=rf"flows\.call\.source: .*{said}") as error:
        run(flows__call__source=source(file))
    assert getattr(error.value, "exit_status", None) == 2


def test_a_missing_clip_is_said_with_its_place() -> None:
    with pytest.raises(paceline.ScenarioError, match=r"flows\.call\.source.* no file \"nowhere\.mp4\""):
        run(flows__call__source=source(Path("nowhere.mp4")))


def test_without_an_encoder_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(paceline.PacelineError, match=r"pip install 'paceline\[video\]'"):
        run()
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    from paceline.video.vmaf import ffmpeg

    with pytest.raises(paceline.PacelineError, match=r"pip install 'paceline\[vmaf\]'"):
        ffmpeg()


def test_a_clip_goes_forward_and_back_without_showing_its_ends_twice() -> None:
    from paceline.video.clips import clip_from

    clip = clip_from(np.zeros((4, 96, 64), np.uint8))
    assert [clip.index(frame, "forward-and-back") for frame in range(9)] == [0, 1, 2, 3, 2, 1, 0, 1, 2]
    assert [clip.index(frame, "forward") for frame in range(6)] == [0, 1, 2, 3, 0, 1]
    assert clip_from(np.zeros((1, 96, 64), np.uint8)).index(7, "forward-and-back") == 0


def test_a_receivers_clock_that_runs_away_changes_no_picture() -> None:
    # The de-jitter buffer counts from the capture: what the receiver's clock says steers the controller alone.
    result = run(flows__call__feedback={"skew": 1000.0})
    assert seen(result)["shown"] == seen(result)["frames"]


def test_a_second_run_is_given_its_frames_by_the_cache(cache: Path) -> None:
    from paceline.video.cache import Cache

    first = run(duration="20s")
    files = sorted(cache.glob("*.chunk"))
    assert len(files) == 3  # 600 frames in chunks of 256
    second = run(duration="20s")
    assert second.files()["video.parquet"] == first.files()["video.parquet"]
    assert sorted(cache.glob("*.chunk")) == files

    stream = first.videos[0].stream
    from paceline.video.encoder import EncoderInLoop
    from paceline.video.sequence import Sequence

    def asked(target_of_frame_300: int) -> tuple[int, Sequence]:
        kept = Cache(cache, 1 << 30)
        loop = EncoderInLoop(stream, first.videos[0].clip, Sequence(), kept)
        for frame in range(310):
            loop(frame, frame, target_of_frame_300 if frame == 300 else 500_000, frame == 0)
        loop.finish()
        return kept.replayed, loop.sequence

    def slices(sequence: Sequence) -> list[list[bytes]]:
        return [sequence.slices(frame) for frame in range(len(sequence))]

    (new, one), (again, same), (until, other) = asked(500_000), asked(500_000), asked(700_000)
    assert (new, again, until) == (0, 310, 300)
    assert slices(one) == slices(same)
    assert slices(one)[:300] == slices(other)[:300]
    assert slices(one)[300] != slices(other)[300]
    for damaged in cache.glob("*.chunk"):
        damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    mended, after = asked(500_000)
    assert mended == 0
    assert slices(after) == slices(one)
    assert asked(500_000)[0] == 310


def test_two_processes_share_the_cache(cache: Path, tmp_path: Path) -> None:
    import json
    import subprocess
    import sys

    file = tmp_path / "call.json"
    file.write_text(json.dumps(SCENARIO | {"duration": "12s"}))
    code = (
        "import json, sys, paceline; "
        "print(json.dumps(paceline.run(json.load(open(sys.argv[1]))).summary['flows']['call']['video']))"
    )
    command = [sys.executable, "-c", code, str(file)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE_S)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert json.loads(said[0]) == json.loads(said[1]) == seen(run(duration="12s"))
    assert len(list(cache.glob("*.chunk"))) == 2
    assert not list(cache.glob(".*.part"))


def test_the_cache_is_bounded_and_lasts_what_was_used_last(cache: Path) -> None:
    import os

    from paceline.video.cache import Cache, Tape
    from paceline.video.encoded import Encoded, Request

    kept = Cache(cache, 100_000)
    for number in range(12):
        tape = Tape(kept, f"{number:02x}".ljust(64, "0"))
        tape.record(Request(100, False), Encoded((bytes(10_000),), False))
        tape.finish()
        for file in cache.glob(f"{number:02x}000*"):
            os.utime(file, ns=(number, number))
    sizes = [file.stat().st_size for file in cache.glob("*.chunk")]
    assert sum(sizes) <= 100_000
    assert len(sizes) >= 8
    assert Tape(kept, "0b".ljust(64, "0")).replay(Request(100, False)) is not None
    assert Tape(kept, "0" * 64).replay(Request(100, False)) is None
    unwritable = Cache(Path("/proc/nowhere"), 1000)
    unwritable.keep("0" * 40, [(Request(100, False), Encoded((b"x",), False))])


MODEL = {"kind": "codec-model", "preset": "carphone", "sigma": 0.1}


def test_the_codec_model_knows_psnr_without_an_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "av", None)
    whole = run(flows__call__source=MODEL)
    psnr = whole.summary["flows"]["call"]["psnr_db"]
    # 400 kbit/s at 30 frames of 176x144 are 0.53 bit per pixel, less headers.
    assert psnr == pytest.approx(33.56 + 2.4 * 3.35 + 0.04 * 2.4**2, abs=0.4)
    assert whole.flows["psnr_db"].iloc[30:].mean() == pytest.approx(psnr, abs=0.3)
    lossy = run(flows__call__source=MODEL, links__bottleneck__loss={"kind": "bernoulli", "ratio": 0.02})
    assert lossy.summary["flows"]["call"]["psnr_db"] < psnr - 2
    early = run(flows__call__source=MODEL, flows__call__playout={"kind": "fixed", "delay": "23ms"})
    assert early.summary["flows"]["call"]["psnr_db"] is None or early.summary["flows"]["call"]["psnr_db"] < psnr - 2
    assert run(flows__call__source={"kind": "cbr"}).summary["flows"]["call"]["psnr_db"] is None


@pytest.mark.long
@pytest.mark.parametrize("generator", ["newsreader", "sports"])
def test_the_codec_model_is_near_x264_at_rates_it_was_not_fitted_to(generator: str) -> None:
    from paceline.video.clips import clip_of
    from paceline.video.model import coded, constant, estimated, fit, predicted, settled

    size = {"width": 176, "height": 144}
    clip = clip_of({"path": None, "generator": generator, "seed": 11, "frames": 90} | size)
    by_fit, by_estimate = fit(clip), estimated(clip)
    fitted, guessed = [], []
    for rate in (0.05, 0.3, 0.6):
        bits, psnr = coded(clip, constant(rate), settled(clip))
        fitted.append(abs(np.mean(predicted(by_fit, bits) - psnr)))
        guessed.append(abs(np.mean(predicted(by_estimate, bits) - psnr)))
    assert np.mean(fitted) < 1
    # Of these clips the estimate knows the pixels alone.
    assert np.mean(guessed) < 2
    wrong = by_fit | {"psnr": by_fit["psnr"] + 3}
    assert abs(np.mean(predicted(wrong, bits) - psnr)) > 1
    assert by_estimate["freeze_psnr"] == by_fit["freeze_psnr"] <= by_estimate["concealed_psnr"]


def test_an_estimate_needs_no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from paceline.video.clips import clip_of
    from paceline.video.model import estimated

    base = {"path": None, "seed": 3, "frames": 20, "width": 96, "height": 80}
    monkeypatch.setitem(sys.modules, "av", None)
    found = {name: estimated(clip_of(base | {"generator": name})) for name in ("newsreader", "sports")}
    # Motion is harder to code, to conceal and to freeze.
    assert all(found["newsreader"][key] > found["sports"][key] + 3 for key in ("psnr", "concealed_psnr", "freeze_psnr"))
    one = estimated(clip_of(base | {"generator": "sports", "frames": 1}))
    assert 5 < one["psnr"] < 60


def test_the_codec_model_conceals_what_a_decoder_conceals() -> None:
    clip = {"generator": "newsreader", "seed": 1, "frames": 150}
    lossy = {
        "links__bottleneck__loss": {"kind": "bernoulli", "ratio": 0.02},
        "flows__call__playout": {"kind": "fixed", "delay": "200ms"},
        "flows__call__controller": {"kind": "fixed", "rate": "800kbps"},
        "duration": "20s",
    }
    real = seen(run(flows__call__source={"kind": "codec"} | clip, **lossy))["psnr_db"]
    model = {"kind": "codec-model", "preset": "newsreader"}

    def modelled(**keys: Any) -> float:
        psnr: float = run(flows__call__source=model | keys, **lossy).summary["flows"]["call"]["psnr_db"]
        return psnr

    assert modelled() == pytest.approx(real, abs=2)
    assert modelled(concealed_psnr=10.0) < real - 5
    assert modelled(concealed_psnr=60.0) > real + 2


@pytest.mark.peer
def test_vmaf_is_computed_where_it_is_asked_for() -> None:
    pytest.importorskip("imageio_ffmpeg", reason="the extra paceline[vmaf] is not installed; the extra dev brings it")
    result = run(flows__call__source__vmaf=True, duration="2s")
    table = result.video
    assert table is not None
    assert 40 < seen(result)["vmaf"] <= 100
    assert table["vmaf"].notna().all()
    lossy = run(
        flows__call__source__vmaf=True, duration="2s", links__bottleneck__loss={"kind": "bernoulli", "ratio": 0.1}
    )
    assert seen(lossy)["vmaf"] < seen(result)["vmaf"] - 3
