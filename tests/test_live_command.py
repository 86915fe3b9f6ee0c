"""`paceline live` and `paceline merge`: one result of what sender, link and receiver know."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from conftest import CALL, Run
from paceline.errors import DataNotFound
from paceline.merging import ENDS, Merged, knowing, read_folders
from processes import PATIENCE_S, start, until

SHORT = ("--set", "duration=2s")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that `paceline live --simulate` wrote."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "call.toml").write_text(CALL)
    out = folder / "out"
    with start("live", folder / "call.toml", *SHORT, "--out", out, "--plot", "--simulate") as process:
        printed, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, said
    assert "over the line and in the simulator" in printed
    assert "how late packets left" in printed
    return out


@pytest.mark.real_time
def test_each_figure_is_of_the_end_that_knows_it(live: Path) -> None:
    summary = json.loads((live / "summary.json").read_text())
    ends = {end: json.loads((live / end / "summary.json").read_text()) for end in ENDS}
    flow, parts = summary["flows"]["video"], {end: ends[end]["flows"]["video"] for end in ENDS}
    assert flow["target_bitrate_mbps"] == parts["sender"]["target_bitrate_mbps"] is not None
    assert flow["queue_delay_ms"] == parts["link"]["queue_delay_ms"] != parts["sender"]["queue_delay_ms"]
    assert flow["one_way_delay_ms"] == parts["receiver"]["one_way_delay_ms"]
    assert flow["one_way_delay_ms"]["mean"] > 10
    assert flow["frames"]["captured"] == parts["sender"]["frames"]["captured"] > 0
    assert flow["frames"]["displayed"] == parts["receiver"]["frames"]["displayed"] > 0
    assert flow["sampled"]["srtt_ms"] == parts["sender"]["sampled"]["srtt_ms"] is not None
    assert summary["links"] == ends["link"]["links"]
    assert summary["sockets"] is None
    assert summary["ends"]["receiver"] == ends["receiver"]["sockets"]
    for end in ("sender", "link"):
        p50, p95, p99, most = (summary["ends"][end][f"late_{part}_ms"] for part in ("p50", "p95", "p99", "max"))
        assert 0 < p50 <= p95 <= p99 <= most * 1.01, end
    assert summary["ends"]["sender"]["late_share"] is None, "no links, no delay to judge lateness by"
    assert summary["ends"]["receiver"]["late_p50_ms"] is None


@pytest.mark.real_time
def test_columns_and_pictures_are_those_of_a_simulated_run(live: Path) -> None:
    for name in ("flows", "links"):
        merged, simulated = (pq.read_table(folder / f"{name}.parquet") for folder in (live, live / "simulated"))
        assert merged.schema.equals(simulated.schema, check_metadata=True)
        assert merged["time_s"].to_pylist() == simulated["time_s"].to_pylist()
    flows = pq.read_table(live / "flows.parquet")
    for column in ("target_bitrate_mbps", "queue_delay_ms", "one_way_delay_ms", "throughput_mbps", "frame_delay_ms"):
        assert flows[column].null_count < len(flows) / 2, column
    names = {path.name for path in (live / "plots").iterdir()}
    assert {"overview.png", "overview.svg", "delays.svg", "one_way_delay.svg", "beside.svg"} <= names


@pytest.mark.real_time
def test_merging_what_the_ends_wrote_gives_the_same(live: Path, cli: Run) -> None:
    done = cli("merge", *(live / end for end in reversed(ENDS)), "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads((live / "summary.json").read_text())
    del summary["simulated"]
    assert json.loads(done.stdout) == summary
    alone = cli("merge", live / "receiver", live / "sender", "--out", "merged", "--plot")
    assert alone.returncode == 0, alone.stderr
    assert "written to merged" in alone.stderr


@pytest.mark.real_time
def test_clocks_that_do_not_agree_are_said_and_their_figures_left_out(live: Path) -> None:
    ends = read_folders([live / end for end in ENDS])
    flow = ends["receiver"].summary["flows"]["video"]
    flow["one_way_delay_ms"]["mean"] -= 8.0
    merged = Merged(ends)
    assert any("clocks of sender and receiver do not agree" in warning for warning in merged.warnings)
    flow = merged.summary["flows"]["video"]
    assert flow["one_way_delay_ms"]["mean"] is flow["frame_delay_ms"]["p95"] is flow["jitter_ms"]["p50"] is None
    assert flow["sampled"]["one_way_delay_ms"] is None
    assert flow["frame_delay_parts_ms"]["dejitter"] is not None
    assert flow["queue_delay_ms"]["mean"] is not None
    assert merged.flows["one_way_delay_ms"].isna().all()
    assert merged.flows["queue_delay_ms"].notna().any()
    flow = ends["receiver"].summary["flows"]["video"]
    flow["one_way_delay_ms"]["mean"] += 1000.0
    assert "at most" in "".join(Merged(ends).warnings), "longer than a round trip"


@pytest.mark.real_time
@pytest.mark.parametrize(
    ("folders", "said"),
    [
        (["sender"], "found one end (sender), expected at least two"),
        (["sender", "link", "sender"], "found a sender, but"),
        (["simulated", "link"], "found a simulation"),
        ([".", "link"], "found a result that was merged"),
        (["plots", "link"], "found no summary.json"),
        (["nowhere", "link"], "no such folder, expected one that"),
    ],
)
def test_folders_that_cannot_be_merged(live: Path, cli: Run, folders: list[str], said: str) -> None:
    done = cli("merge", *(live / folder for folder in folders), "--out", "merged")
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not (live / "merged").exists()


@pytest.mark.real_time
def test_ends_of_two_calls_and_broken_files(live: Path, cli: Run, tmp_path: Path) -> None:
    for name, changed in (("other", '"name": "another call"'), ("broken", '"nome": 7')):
        folder = tmp_path / name
        folder.mkdir()
        for path in (live / "sender").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        text = (folder / "summary.json").read_text()
        (folder / "summary.json").write_text(text.replace('"name": "a short call"', changed, 1))
    (tmp_path / "cut").mkdir()
    for path in (live / "sender").iterdir():
        (tmp_path / "cut" / path.name).write_bytes(path.read_bytes()[:-40])
    for name, said in (("other", "not of one call"), ("broken", "found other files"), ("cut", "cannot be read")):
        done = cli("merge", tmp_path / name, live / "link")
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.real_time
@pytest.mark.parametrize("name", ["summary.json", "scenario.toml", "flows.parquet", "links.parquet"])
@pytest.mark.parametrize("damage", ["empty", "gone", "folder", "noise"])
def test_a_damaged_folder_is_named(live: Path, tmp_path: Path, name: str, damage: str) -> None:
    folder = shutil.copytree(live / "receiver", tmp_path / "receiver")
    (folder / name).unlink()
    if damage == "folder":
        (folder / name).mkdir()
    elif damage != "gone":
        (folder / name).write_bytes(b"" if damage == "empty" else bytes(range(256)))
    with pytest.raises(DataNotFound) as said:
        read_folders([folder])
    assert str(said.value).startswith(f"{folder}: ")
    assert damage not in ("gone", "folder") or f"found no {name}, " in str(said.value)


def has_sockets(process: int) -> bool:
    for number in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            if "socket:" in str(number.readlink()):
                return True
    return False


@pytest.mark.real_time
def test_a_call_that_is_told_to_stop_leaves_nothing(call_file: Path) -> None:
    out = call_file.parent / "out"
    with start("live", call_file, "--out", out) as process:
        until("a socket", lambda: has_sockets(process.pid))
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, said
    assert "interrupted: nothing was written" in said
    assert not out.exists()


def test_what_a_line_does_not_offer(cli: Run, call_file: Path) -> None:
    done = cli("live", call_file, "--set", 'flows.video.return_path=["bottleneck"]', "--out", "out")
    assert done.returncode == 2
    assert "return_path" in done.stderr


def test_every_figure_has_an_end() -> None:
    from paceline.figures import figures

    needed = {figure.needs for figure in figures("flows.NAME").values()}
    assert all(set(knowing(needs)) <= set(ENDS) and knowing(needs) for needs in needed)
