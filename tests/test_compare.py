"""`paceline compare`: controllers side by side; killed, continued, on a cluster, joined; what fails is counted."""

import html
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import paceline
from conftest import CALL, ROOT, Run
from paceline.browser.chromium import NAMES, find
from paceline.comparison import conditions, definition, statistics
from paceline.comparison.contenders import contenders
from paceline.errors import OutputError, PacelineError, StudyError, UsageError
from paceline.plots import comparison

SHORT = CALL.replace('"10s"', '"2s"').replace('["5s", "4Mbps"]', '["1s", "4Mbps"]')


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A call of two seconds as a file."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return path


FILE = "newreno,flow.source=bulk"


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> paceline.ComparisonResult:
    """Three controllers over a call, three seeds each."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "short.toml").write_text(SHORT)
    return paceline.compare(
        ["scream:reference-2022", FILE, "slow=scream,qdelay_target_lo=20ms"],
        over=folder / "short.toml", seeds=3, out=folder / "out", workers=1,
    )  # fmt: skip


# Results.


def test_all_run_on_the_same_seeds_with_the_same_draws(compared: paceline.ComparisonResult) -> None:
    runs = compared.runs
    assert len(runs) == 9
    assert list(runs["seed"]) == [1, 2, 3] * 3
    warmup, profile = compared.warmups["short"], "reference-2022"
    assert warmup == 0.333, "a sixth of two seconds"
    bitrate = {"min": "50kbps", "start": "300kbps", "max": "100Mbps"}
    overrides = {
        "flows.video.controller.profile": profile, "flows.video.bitrate": bitrate, "warmup": f"{warmup}s",
    }  # fmt: skip
    alone = paceline.run(SHORT, overrides=overrides, seed=2)
    row = runs[(runs["controller"] == "scream:reference-2022") & (runs["seed"] == 2)].iloc[0]
    flow = alone.summary["flows"]["video"]
    assert row["throughput_mbps"] == flow["throughput_mbps"]
    assert row["one_way_delay_p95_ms"] == flow["one_way_delay_ms"]["p95"]
    assert row["send_queue_delay_p95_ms"] == flow["send_queue_delay_ms"]["p95"]
    assert row["frame_delay_p50_ms"] == flow["frame_delay_ms"]["p50"]
    begin = alone.flows[alone.flows["time_s"] <= warmup]
    assert row["start_up_mbps"] == pytest.approx(begin["throughput_mbps"].mean())
    assert row["loss_percent"] == 100 * flow["loss_ratio"]
    assert row["utilisation_percent"] == 100 * alone.summary["links"]["bottleneck"]["utilisation"]


def test_medians_and_differences_are_of_the_runs(compared: paceline.ComparisonResult) -> None:
    own = compared.runs[compared.runs["controller"] == "slow"].set_index("seed")["one_way_delay_p95_ms"]
    base = compared.runs[compared.runs["controller"] == compared.baseline].set_index("seed")["one_way_delay_p95_ms"]
    found = compared.differences.set_index(["controller", "figure"]).loc["slow", "one_way_delay_p95_ms"]
    assert found["difference"] == pytest.approx((own - base).mean())
    assert found["high"] - found["difference"] == pytest.approx(4.3027 * (own - base).sem(), rel=1e-4)
    assert found["note"] == statistics.FEW_SEEDS
    assert pd.isna(found["better"])
    medians = compared.medians.set_index("controller")["one_way_delay_p95_ms"]
    assert medians["slow"] == own.median()


def test_a_file_has_no_frames_and_is_the_same_with_every_seed(compared: paceline.ComparisonResult) -> None:
    newreno = compared.runs[compared.runs["controller"] == FILE]
    assert newreno["throughput_mbps"].nunique() == 1
    assert newreno[["frame_delay_p95_ms", "freezes"]].isna().all(axis=None)
    found = compared.differences.set_index(["controller", "figure"]).loc[FILE]
    assert found.loc["frame_delay_p95_ms", "note"] == statistics.NO_FIGURE
    assert "frame-delay" not in compared.ranking.scores[FILE]


def test_the_folder_has_all_that_was_found(compared: paceline.ComparisonResult) -> None:
    out = compared.out
    assert pd.read_csv(out / "medians.csv")["controller"].tolist() == compared.controllers
    assert json.loads((out / "ranking.json").read_text())["utilities"] == compared.ranking.utilities
    names = {path.name for path in (out / "plots").iterdir()}
    assert names >= {"rate-delay.svg", "rate-delay.png", "one_way_delay.svg", "frame_delay.png", "series-01-short.png"}
    table = comparison.series(compared, "short", FILE)
    assert table["time_s"].iloc[-1] == 2.0
    assert set(table["capacity_mbps"].round(6)) == {4.0, 8.0}
    rows = pd.read_parquet(compared.results_file)
    assert list(compared.flows("short", "slow").columns[:2]) == ["time_s", "flow"]
    command = rows["command"].iloc[1]
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), "--json"], capture_output=True, text=True, check=True, cwd=out
    )
    assert json.loads(done.stdout)["flows"]["video"]["throughput_mbps"] == compared.runs["throughput_mbps"].iloc[1]


def test_the_report_needs_nothing_else(compared: paceline.ComparisonResult) -> None:
    text = compared.report.read_text()
    assert not re.findall(r"""(?:src|href)=["'](?!#)[^"']+""", text)
    assert not re.findall(r"@import|url\((?!#)", text)
    assert "Permission is hereby granted" in text, "uPlot's licence goes with it"
    document = json.loads(re.findall(r'id="comparison">(.*?)</script>', text, re.DOTALL)[0])
    assert document["controllers"] == compared.controllers
    assert document["scores"] == compared.ranking.scores
    charts = {chart["id"]: chart for chart in document["charts"]}
    assert set(charts["c0-throughput_mbps"]["lines"]) == set(compared.controllers)
    assert all(len(line) == len(chart["x"]) for chart in charts.values() for line in chart["lines"].values())


def test_tables_of_the_report_scroll_in_boxes_of_their_own(compared: paceline.ComparisonResult) -> None:
    text = compared.report.read_text()
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert text.count("<table>") == text.count('<div class="wide"><table>') == 2
    assert "short, after 0.333 s of start-up" in text
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: ?([\d.]+)px", text)]
    assert sizes
    assert min(sizes) >= 14


FRAMES = """<!DOCTYPE html><body>{frames}<script>addEventListener("load", () => {{
  const found = [...document.querySelectorAll("iframe")].map(({{ contentDocument: page, contentWindow: window }}) => ({{
    room: window.innerWidth, page: page.documentElement.scrollWidth,
    charts: [...page.querySelectorAll(".u-wrap")].map(one => one.clientWidth),
    pictures: [...page.querySelectorAll("figure")].map(one => one.clientWidth),
  }}));
  document.body.textContent = JSON.stringify(found);
}})</script>"""


@pytest.mark.peer
@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason="no Chromium is installed")
def test_the_report_is_as_wide_as_a_phone_or_a_window(compared: paceline.ComparisonResult, tmp_path: Path) -> None:
    page = tmp_path / "frames.html"
    report = html.escape(compared.report.read_text())
    frames = [f'<iframe width="{width}" height="800" srcdoc="{report}"></iframe>' for width in (390, 1280)]
    page.write_text(FRAMES.format(frames="".join(frames)))
    words = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom")
    done = subprocess.run([find(None), *words, page.as_uri()], capture_output=True, text=True, check=True)
    said = json.loads(re.findall(r"<body>(.*?)</body>", done.stdout, re.DOTALL)[0])
    assert [one["room"] for one in said] == [390, 1280]
    for one in said:
        assert one["page"] <= one["room"]
        assert max(one["charts"] + one["pictures"]) <= one["page"]
        assert min(one["charts"]) > 0.8 * one["page"]


@pytest.mark.usefixtures("unpainted")
def test_a_name_cannot_break_out_of_the_report(short: Path, tmp_path: Path) -> None:
    label = "</script><b>x"
    result = paceline.compare(
        [{"kind": "scream", "label": label}, "newreno"], over=short, seeds=1, out=tmp_path / "out", workers=1
    )
    text = result.report.read_text()
    assert label not in text
    assert "&lt;/script&gt;" in text


# As a command.


@pytest.mark.usefixtures("unpainted")
def test_the_command_says_what_came_out(short: Path, cli: Run) -> None:
    words = ("compare", "scream", "newreno", "bbr", "--seeds", "2", "--over", short, "--out", "out", "--workers", "1")
    done = cli(*words)
    assert done.returncode == 0, done.stderr
    assert "ranking by throughput=1, delay=1" in done.stdout
    assert "short, after 0.333 s of start-up" in done.stdout
    assert "runs:     6\n" in done.stdout
    again = cli(*words, "--json", "--resume")
    document = json.loads(again.stdout)
    assert (document["runs"], document["taken_over"], document["failed"]) == (6, 6, 0)
    assert {one["controller"] for one in document["medians"]} == {"scream", "newreno", "bbr"}
    assert document["ranking"]["weights"] == {"throughput": 1.0, "delay": 1.0}


@pytest.mark.usefixtures("unpainted")
def test_a_narrow_terminal_shows_what_the_ranking_counts(
    short: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    words = ("compare", "urcp", "um", "--over", str(short), "--seeds", "1", "--workers", "1", "--out", "out")
    assert "one-way" in cli(*words).stdout
    found = cli(*words, "--weights", "loss=1,frame-delay=2").stdout
    assert "loss," in found
    assert "frame delay" in found
    assert "one-way" not in found
    monkeypatch.setenv("COLUMNS", "160")
    wide = cli(*words).stdout
    first = ("throughput", "frame delay p95", "one-way delay p95", "send queue p95", "loss", "start-up")
    places = [wide.index(f"{name},") for name in first]
    assert places == sorted(places)


@pytest.mark.peer
def test_a_weight_is_printed_as_it_is() -> None:
    """A weight of 100 stood as 1 beside its slider: the zeros before the point were cut too."""
    template = (ROOT / "python/paceline/studies/templates/compare.html").read_text()
    [rounding] = re.findall(r"textContent = (.*input\.value.*);", template)
    weights = {"100": "100", "1500": "1500", "0.25": "0.25", "2": "2", "1.23456": "1.23"}
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    script = (
        f"for (const value of {json.dumps(list(weights))}) {{ const input = {{ value }}; console.log({rounding}); }}"
    )
    said = subprocess.run([node, "-e", script], capture_output=True, text=True, check=True).stdout
    assert said.split() == list(weights.values())


@pytest.mark.usefixtures("unpainted")
def test_over_takes_all_words_up_to_the_next_option(short: Path, cli: Run) -> None:
    other = short.with_name("other.toml")
    other.write_text(SHORT)
    words = ("scream", "newreno", "--over", short, other, "--seeds", "1", "--workers", "1", "--json")
    document = json.loads(cli("compare", *words).stdout)
    assert {one["condition"] for one in document["medians"]} == {"short", "other"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scream", "--over", "SHORT"), "found one controller (scream), expected at least two"),
        (("--over", "SHORT"), "found no controller"),
        (("scream", "newreno"), "over: found nothing"),
        (("scream", "scream", "--over", "SHORT"), "found two called 'scream'"),
        (("scream", "scrm", "--over", "SHORT"), "did you mean 'scream'"),
        (("scream", "newreno", "--over", "nope.csv"), "no such scenario"),
        (("scream", "newreno", "--over", "SHORT", "--seeds", "0"), "expected from 1"),
        (("scream", "newreno", "--over", "SHORT", "--weights", "x=1"), "weights: found 'x'"),
        (("scream", "newreno", "--over", "SHORT", "--duration", "2"), "duration: found '2', expected a time"),
        (("scream", "newreno", "--over", "SHORT", "--warmup", "2"), "warmup: found '2', expected a time"),
        (("scream", "newreno", "--over", "SHORT", "--warmup", "2s"), "expected a time below the duration"),
        (("scream", "newreno", "--over", "SHORT", "--join", "nowhere"), "found no finished comparison"),
        (("scream", "newreno", "--over", "SHORT", "--fresh", "--resume"), "found both"),
    ],
)
def test_what_is_wrong_is_said_before_any_run(words: tuple[str, ...], said: str, short: Path, cli: Run) -> None:
    done = cli("compare", *(str(short) if word == "SHORT" else word for word in words))
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (short.parent / "cwd" / "out").exists()


@pytest.mark.usefixtures("unpainted")
def test_a_folder_with_another_comparison_stays_as_it_is(short: Path, cli: Run) -> None:
    words = ("--seeds", "1", "--over", short, "--out", "out", "--workers", "1")
    assert cli("compare", "scream", "newreno", *words).returncode == 0
    rows = short.parent / "cwd" / "out" / "results.parquet"
    before = rows.read_bytes()
    done = cli("compare", "newreno", "bbr", *words)
    assert done.returncode == 2
    assert "found results of another definition" in done.stderr
    assert rows.read_bytes() == before
    more = cli("compare", "scream", "newreno", "bbr", *words)
    assert more.returncode == 0, "a controller more keeps what is finished"
    assert "3, 2 of them taken over" in more.stdout


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A user who fetches pages: short connections, which only TCP has."""
    path = tmp_path / "pages.toml"
    source = 'transport = "tcp"\ncontroller = "cubic"\nsource = { kind = "short-transfers" }\npath = ["bottleneck"]\n'
    path.write_text(SHORT.partition("[flows.video]")[0] + "[flows.web]\n" + source)
    return path


@pytest.mark.usefixtures("unpainted")
def test_a_scenario_that_one_cannot_run_is_counted_and_named(short: Path, pages: Path, cli: Run) -> None:
    words = ("newreno", "scream", "--over", pages, short, "--seeds", "2", "--out", "out", "--json", "--workers", "1")
    done = cli("compare", *words)
    assert done.returncode == 1
    assert "scream failed over pages (2 runs): " in done.stderr
    document = json.loads(done.stdout)
    assert (document["runs"], document["failed"]) == (8, 2)
    [failure] = document["failures"]
    assert (failure["controller"], failure["condition"], failure["count"]) == ("scream", "pages", 2)
    assert any("leaves out pages" in note for note in document["ranking"]["notes"])
    assert set(document["ranking"]["utilities"]) == {"newreno", "scream"}
    report = (short.parent / "cwd" / "out" / "report.html").read_text()
    assert "<b>scream</b> failed over pages (2" in report


@pytest.mark.usefixtures("unpainted")
def test_all_runs_may_fail(pages: Path, tmp_path: Path) -> None:
    result = paceline.compare(["scream", "tfrc"], over=pages, seeds=1, out=tmp_path / "out", workers=1)
    assert len(result.failures) == 2
    assert result.ranking.order == []
    assert result.report.is_file()


@pytest.mark.usefixtures("unpainted")
def test_one_seed_gives_no_interval(short: Path, tmp_path: Path) -> None:
    result = paceline.compare(["scream", "newreno"], over=short, seeds=1, out=tmp_path / "out", workers=1)
    rows = result.differences[result.differences["seeds"] == 1]
    assert not rows.empty
    assert set(rows["note"]) == {statistics.ONE_SEED}
    assert rows[["low", "high"]].isna().all(axis=None)


# Killed, continued, shared, joined.


@pytest.mark.long
@pytest.mark.usefixtures("unpainted")
def test_a_killed_comparison_goes_on_and_ends_alike(short: Path, tmp_path: Path) -> None:
    options = {"over": short, "seeds": 15, "workers": 1}
    whole = paceline.compare(["scream", "newreno"], out=tmp_path / "whole", **options)
    out = tmp_path / "out"
    words = ["compare", "scream", "newreno", "--over", str(short), "--seeds", "15", "--workers", "1", "--out", str(out)]
    process = subprocess.Popen([sys.executable, "-m", "paceline", *words], stderr=subprocess.DEVNULL)
    journal = out / ".study" / "rows-000000.journal"
    while process.poll() is None and not (journal.exists() and journal.stat().st_size > 5000):
        time.sleep(0.01)
    process.send_signal(signal.SIGSTOP)
    assert process.poll() is None, "it had ended before"
    with pytest.raises((OutputError, StudyError)):
        paceline.compare(["scream", "newreno"], out=out, **options)
    process.kill()
    process.wait()
    result = paceline.compare(["scream", "newreno"], out=out, **options)
    assert result.state.taken_over > 0
    assert result.state.finished == 30
    pd.testing.assert_frame_equal(result.runs, whole.runs)
    assert (out / "differences.csv").read_bytes() == (tmp_path / "whole" / "differences.csv").read_bytes()


@pytest.mark.real_time
def test_a_cluster_gives_the_same(short: Path, tmp_path: Path, compared: paceline.ComparisonResult) -> None:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options) as cluster:
        result = paceline.compare(
            ["scream:reference-2022", FILE, "slow=scream,qdelay_target_lo=20ms"],
            over=short, seeds=3, out=tmp_path / "out", dask=cluster.scheduler_address,
        )  # fmt: skip
    pd.testing.assert_frame_equal(result.runs, compared.runs)


@pytest.mark.usefixtures("unpainted")
def test_comparisons_are_joined_by_their_seeds(short: Path, tmp_path: Path) -> None:
    def run(name: str, controllers: list[str], seeds: list[int], join: list[str]) -> paceline.ComparisonResult:
        return paceline.compare(
            controllers, over=short if controllers else (), seeds=seeds, out=tmp_path / name,
            join=[tmp_path / one for one in join], workers=1,
        )  # fmt: skip

    run("a", ["scream", "newreno"], [1, 2], [])
    run("b", ["bbr", "tfrc"], [2, 3], [])
    both = run("both", [], [1], ["a", "b"])
    assert both.controllers == ["scream", "newreno", "bbr", "tfrc"]
    rates = both.differences[both.differences["figure"] == "throughput_mbps"].set_index("controller")
    assert rates["seeds"].to_dict() == {"newreno": 2, "bbr": 1, "tfrc": 1}
    assert both.report.is_file()
    assert (both.state.total, both.state.taken_over) == (8, 8)
    more = run("c", ["scream", "newreno"], [3, 4], ["a"])
    assert set(more.medians["runs"]) == {4}, "more seeds of the same controllers"
    assert (more.state.total, more.state.taken_over) == (8, 4)
    run("d", ["bbr", "tfrc"], [8, 9], [])
    with pytest.raises(StudyError, match="no seed in common: 'scream' ran short with seeds 1, 2, 'bbr' short with"):
        run("e", [], [1], ["a", "d"])
    with pytest.raises(UsageError, match=r"found the folder of --out"):
        run("a", [], [1], ["a"])
    short.write_text(SHORT.replace('"10ms"', '"12ms"'))
    with pytest.raises(StudyError, match="condition 'short' that is another one"):
        run("f", ["bbr", "tfrc"], [1, 2], ["a"])
    (tmp_path / "a" / "comparison.json").write_text("{")
    with pytest.raises(StudyError, match="damaged"):
        run("g", [], [1], ["a"])


@pytest.mark.usefixtures("unpainted")
def test_damaged_files_are_named(compared: paceline.ComparisonResult, tmp_path: Path) -> None:
    """A byte that turned over, or a file that a full disk cut off, is no fault of the program."""
    for number, (name, damage) in enumerate(
        (
            ("comparison.json", lambda content: content.replace(b'"name"', b'"nane"', 1)),
            ("comparison.json", lambda content: content.replace(b'"links"', b'"lanks"')),
            ("results.parquet", lambda content: content[: len(content) // 2]),
            ("results.parquet", lambda content: b""),
            ("experiments/slow@short/1/flows.parquet", lambda content: content[:100]),
        )
    ):
        folder = tmp_path / str(number)
        shutil.copytree(compared.out, folder)
        (folder / name).write_bytes(damage((folder / name).read_bytes()))
        with pytest.raises(StudyError, match=rf"{name}: found (a damaged file|no column)"):
            paceline.compare([], join=[folder], out=tmp_path / "joined")


def test_a_comparison_runs_as_many_experiments_as_a_sweep(short: Path) -> None:
    """A design for each pair, and one run for each seed: nothing else is run."""
    of_conditions = conditions.conditions([str(short)])
    cases = definition.cases(contenders(["scream", "newreno", "bbr"]), of_conditions)
    study = definition.study(cases, (1, 2, 3, 4), short.parent / "out")
    assert len(study) == 12
    assert [study.experiment(index).plots is not None for index in range(8)] == [True, False, False, False] * 2
    assert issubclass(UsageError, PacelineError)
