"""`paceline vectors`: the file that it writes, and that a run from the file is the run of what was drawn."""

import json
from pathlib import Path

import pytest

import paceline
from conftest import CALL, ROOT, Run

PAGES = ROOT / "scenarios" / "call-among-pages.toml"
DRAWN = 'generator = { kind = "web", load = "5Mbps" }'


def test_a_run_from_the_file_is_the_run_of_what_was_drawn(cli: Run, tmp_path: Path) -> None:
    done = cli("vectors", PAGES, "--seed", "3", "--out", tmp_path / "pages.cvec")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    text = (tmp_path / "pages.cvec").read_text()
    vectors = text.count("\nS ")
    assert text.startswith(f"# Number of Cvecs: {vectors}\n# Number of ADUs: {text.count('I ') + text.count('A ')}\n")
    assert f"flow web: {vectors} connections; initiators send" in done.stderr
    assert f"written to {tmp_path / 'pages.cvec'}" in done.stderr
    replayed = tmp_path / "replayed.toml"
    replayed.write_text(PAGES.read_text().replace(DRAWN, 'file = "pages.cvec"'))
    assert replayed.read_text() != PAGES.read_text()
    first, second = paceline.run(PAGES, seed=3).summary, paceline.run(replayed, seed=3).summary
    assert first["flows"] == second["flows"]
    assert first["flows"]["web"]["transfers"]["completed"] > 500


def test_the_load_is_what_was_asked_for_on_the_mean(cli: Run) -> None:
    """Over an hour: sizes have heavy tails."""
    sets = ["--set", "duration=3600s", "--set", 'sample="1s"']
    done = cli("vectors", PAGES, *sets)
    assert done.returncode == 0, done.stderr
    sent = float(done.stderr.split("acceptors ")[1].split(" MB")[0])
    assert sent * 8 / 3600 == pytest.approx(5, rel=0.05)
    round_trips = [int(line[2:]) for line in done.stdout.splitlines() if line.startswith("r ")]
    assert min(round_trips) >= 80_000
    assert max(round_trips) <= 100_000
    assert sum(round_trips) / len(round_trips) == pytest.approx(90_000, rel=0.01)


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (CALL, [], "vectors: found no flow whose source is tmix, expected one"),
        (None, ["--flow", "call"], '--flow: found "call", expected one of web'),
        (
            None,
            ["--set", "flows.web.count=2"],
            "--flow: found several flows with connections, expected one of web-1, web-2",
        ),
        (None, ["--set", "flows.web.source.generator.lode=1"], "flows.web.source.generator.lode: found an unknown key"),
    ],
)
def test_what_is_wrong_is_said(cli: Run, tmp_path: Path, text: str | None, arguments: list[str], said: str) -> None:
    scenario = tmp_path / "given.toml"
    scenario.write_text(text or PAGES.read_text())
    done = cli("vectors", scenario, *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_a_damaged_file_is_said_with_its_line(cli: Run, tmp_path: Path) -> None:
    text = cli("vectors", PAGES).stdout
    lines = text.splitlines(keepends=True)
    scenario = tmp_path / "given.toml"
    scenario.write_text(PAGES.read_text().replace(DRAWN, 'file = "damaged.cvec"'))
    for damaged, line, expected in [
        (text[:-3], len(lines), "the file is cut"),
        ("".join([*lines[:8], "I x 0 350\n", *lines[9:]]), 9, "two waits in microseconds"),
        ("".join(lines[:5]), 5, "as many as the connection's first line says"),
    ]:
        (tmp_path / "damaged.cvec").write_text(damaged)
        done = cli("run", scenario, "--json")
        assert done.returncode == 2
        assert "flows.web.source.file" in done.stderr
        assert f"in line {line} of {tmp_path / 'damaged.cvec'}" in done.stderr
        assert expected in done.stderr


def test_the_summary_counts_data_units(cli: Run) -> None:
    done = cli("run", PAGES, "--json", "--set", "duration=10s")
    web = json.loads(done.stdout)["flows"]["web"]
    assert web["transfers"]["begun"] >= web["transfers"]["completed"] > 50
    assert web["transfers"]["completion_time_ms"]["p50"] > 80
