"""`paceline run`: what it prints and writes, and how it ends."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import paceline
from conftest import CALL, ROOT, Run
from paceline.cli.speak import progress_bar

PAGES = """
[flows.web]
transport = "tcp"
controller = "cubic"
path = ["bottleneck"]
[flows.web.source]
kind = "short-transfers"
parallel = 4
size_min = "40kB"
size_max = "40kB"
idle = "6s"
idle_kind = "fixed"
"""
OUTPUTS = {"summary.json", "flows.parquet", "links.parquet", "scenario.toml"}
FLOW_COLUMNS = {
    "time_s", "flow", "stream", "target_bitrate_mbps", "throughput_mbps", "send_rate_mbps", "cwnd_bytes",
    "bytes_in_flight", "srtt_ms", "queue_delay_estimate_ms", "queue_delay_ms", "send_queue_delay_ms",
    "send_queue_bytes", "frame_bytes", "ce_ratio", "loss_ratio",
}  # fmt: skip
LINK_COLUMNS = {
    "time_s", "link", "capacity_mbps", "throughput_mbps", "queue_packets", "queue_bytes", "dropped", "marked",
}  # fmt: skip


def test_json_is_one_document_and_nothing_is_written(cli: Run, call_file: Path) -> None:
    done = cli("run", call_file, "--json")
    assert done.returncode == 0
    summary = json.loads(done.stdout)
    assert {"name", "seed", "duration_s", "wall_s", "packets", "events", "flows", "links", "fairness"} <= set(summary)
    assert summary["name"] == "a short call"
    assert 0 < summary["flows"]["video"]["throughput_mbps"] < 8
    assert done.stderr == ""
    assert sorted(call_file.parent.iterdir()) == [call_file, call_file.parent / "cwd"]
    assert list((call_file.parent / "cwd").iterdir()) == []


def test_the_table_names_flow_and_link(cli: Run, call_file: Path) -> None:
    done = cli("run", call_file)
    assert done.returncode == 0
    assert "flow video (scream)" in done.stdout
    assert "bottlen" in done.stdout


def test_the_table_shows_how_long_transfers_took(cli: Run, call_file: Path) -> None:
    """Where there are transfers, and nothing of them elsewhere."""
    call_file.write_text(CALL + PAGES)
    done = cli("run", call_file)
    assert done.returncode == 0, done.stderr
    video, web = done.stdout.split("flow web (cubic)")
    assert "transfer" not in video
    rows = [line for line in web.splitlines() if "transfer" in line]
    assert len(rows) == 3, web
    assert [row.split() for row in rows[:2]] == [["transfers", "begun", "8"], ["transfers", "completed", "8"]], web
    transfers = paceline.run(call_file).summary["flows"]["web"]["transfers"]
    assert (transfers["begun"], transfers["completed"], transfers["bytes"]) == (8, 8, 320_000)
    times = transfers["completion_time_ms"]
    assert 60 < times["p50"] <= times["p95"] <= times["p99"] <= times["max"]
    assert f"{times['mean']:.1f}" in rows[2]
    assert rows[2].split()[-1] == "ms"


def test_out_receives_every_file_with_its_columns(cli: Run, call_file: Path) -> None:
    out = call_file.parent / "new" / "out"
    done = cli("run", call_file, "--out", out)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in out.iterdir()} == OUTPUTS
    assert set(pq.read_schema(out / "flows.parquet").names) >= FLOW_COLUMNS
    assert set(pq.read_schema(out / "links.parquet").names) >= LINK_COLUMNS
    assert pq.read_table(out / "flows.parquet").num_rows == 200


def test_a_run_can_be_repeated_from_what_it_wrote(cli: Run, call_file: Path) -> None:
    first, second = call_file.parent / "first", call_file.parent / "second"
    assert cli("run", call_file, "--out", first, "--seed", "7").returncode == 0
    assert cli("run", first / "scenario.toml", "--out", second).returncode == 0
    for name in ("flows.parquet", "links.parquet", "scenario.toml"):
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_outputs_are_replaced_and_others_are_left(cli: Run, call_file: Path) -> None:
    out = call_file.parent / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "summary.json").write_text("old")
    assert cli("run", call_file, "--out", out).returncode == 0
    assert (out / "notes.txt").read_text() == "mine"
    assert json.loads((out / "summary.json").read_text())["name"] == "a short call"
    assert {path.name for path in out.iterdir()} == OUTPUTS | {"notes.txt"}


def test_plots_are_written(cli: Run, call_file: Path) -> None:
    out = call_file.parent / "out"
    done = cli("run", call_file, "--out", out, "--plot")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (out / "plots").iterdir()}
    assert {"overview.png", "overview.svg", "rates.svg", "throughput.svg", "delays.svg", "window.svg"} <= names


def test_a_run_without_samples_has_no_pictures_and_says_so(cli: Run, call_file: Path) -> None:
    out = call_file.parent / "out"
    done = cli("run", call_file, "--out", out, "--plot", "--set", "sample=20s")
    assert done.returncode == 0, done.stderr
    assert "warning: no picture was drawn: in 10 s the flows gave no sample (sample = '20s')" in done.stderr
    assert {path.name for path in out.iterdir()} == OUTPUTS


@pytest.mark.parametrize(("name", "more"), [("call [l4s] test", ()), ("x[/y] :car: $\\foo$", ("--plot",))])
def test_names_are_shown_as_they_are(cli: Run, call_file: Path, name: str, more: tuple[str, ...]) -> None:
    quoted = json.dumps(name)
    text = CALL.replace('"a short call"', quoted).replace('"bottleneck"', quoted)
    call_file.write_text(text.replace("flows.video", f"flows.{quoted}").replace("links.bottleneck", f"links.{quoted}"))
    done = cli("run", call_file, "--out", call_file.parent / "out", *more)
    assert done.returncode == 0, done.stderr
    assert f"{name}: 10 s, seed" in done.stdout
    assert f"flow {name} (scream)" in done.stdout
    assert name.split()[1] in done.stdout.split("links")[1]


def test_the_progress_bar_shows_a_title_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with progress_bar("study x[/y] [l4s]") as progress:
        assert progress is not None
        progress(0.5)
    assert "study x[/y] [l4s]" in screen.getvalue()


def test_a_name_in_quotes_may_hold_an_equals_sign(cli: Run, call_file: Path) -> None:
    call_file.write_text(CALL.replace('"bottleneck"', '"a=b"').replace("links.bottleneck", 'links."a=b"'))
    done = cli("run", call_file, "--json", "--set", 'links."a=b".rate=2Mbps')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"]["video"]["throughput_mbps"] < 2


def test_the_version(cli: Run) -> None:
    done = cli("--version")
    assert (done.returncode, done.stdout) == (0, f"paceline {paceline.__version__}\n")


def test_set_and_seed_replace_values(cli: Run, call_file: Path) -> None:
    done = cli(
        "run", call_file, "--json", "--seed", "9", "--set", "links.bottleneck.rate=2Mbps", "--set", "duration=4s"
    )
    summary = json.loads(done.stdout)
    assert (summary["seed"], summary["duration_s"]) == (9, 4)
    assert summary["flows"]["video"]["throughput_mbps"] < 2


def test_threads_are_one_at_least(cli: Run, call_file: Path) -> None:
    one, two = (json.loads(cli("run", call_file, "--json", "--threads", str(threads)).stdout) for threads in (1, 2))
    assert {**one, "wall_s": 0} == {**two, "wall_s": 0}
    assert cli("run", call_file, "--threads", "0").returncode == 2


def test_a_scenario_may_come_from_standard_input(cli: Run) -> None:
    done = cli("run", "-", "--json", stdin=CALL)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["duration_s"] == 10


def seconds(time: str) -> float:
    return float(time.removesuffix("s"))


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml")), ids=lambda path: path.stem)
def test_the_scenarios_that_come_along_run(cli: Run, path: Path) -> None:
    duration = min(paceline.toml.loads(path.read_text())["duration"], "60s", key=seconds)
    done = cli("run", path, "--json", "--set", f"duration={duration}")
    assert done.returncode == 0, done.stderr


def test_same_seed_gives_the_same_bits_from_anywhere(cli: Run, call_file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = elsewhere / "call.toml"
    moved.write_text(CALL)
    for scenario, out in ((call_file, "a"), (call_file, "b"), (moved, "c")):
        assert cli("run", scenario, "--out", tmp_path / out).returncode == 0
    files = [(tmp_path / out / "flows.parquet").read_bytes() for out in "abc"]
    assert files[0] == files[1] == files[2]


def test_another_seed_gives_other_bits(cli: Run, call_file: Path, tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert cli("run", call_file, "--out", tmp_path / seed, "--seed", seed).returncode == 0
    assert (tmp_path / "1" / "flows.parquet").read_bytes() != (tmp_path / "2" / "flows.parquet").read_bytes()


def test_a_run_without_files_loads_nothing_heavy(call_file: Path) -> None:
    """Slow imports are loaded only when a table is drawn or a file is written."""
    code = (
        "import sys; from paceline.cli import main\n"
        f"sys.argv = ['paceline', 'run', {str(call_file)!r}, '--json']\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & {"pandas", "pyarrow", "numpy", "matplotlib", "jinja2", "rich"}


def test_list_says_what_must_be_given(cli: Run) -> None:
    traces, queues = (cli("list", kind, "--full").stdout for kind in ("traces", "queues"))
    assert "interval (must be given)  (time, from 1ns)" in traces
    assert "interval (may be left out)  (time, from 1ns)" in traces
    assert "packets (one of these must be given)  (count, from 1)" in queues
    entries = json.loads(cli("list", "queues", "--json").stdout)["queues"]
    needs = {parameter["name"]: parameter["need"] for parameter in entries[0]["parameters"]}
    assert needs == {"limit": "one-of", "packets": "one-of", "bytes": "one-of", "scale": "optional"}


def test_list_shows_one_thing_by_its_own_name(cli: Run) -> None:
    flow = cli("list", "flow").stdout
    assert flow.startswith("flow: ")
    assert "path (must be given)" in flow
    assert "qdelay_target_lo" not in flow
    # A controller is called so, and a playout.
    fixed = json.loads(cli("list", "fixed", "--json").stdout)["fixed"]
    assert [entry["kind"] for entry in fixed] == ["fixed", "fixed"]
    unknown = cli("list", "flwo")
    assert unknown.returncode == 2
    assert "found 'flwo', expected one of" in unknown.stderr
