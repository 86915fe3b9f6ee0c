"""Studies that compare cell by cell: verdicts, halves, parts, further controllers, and the study `envelope`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import paceline
from conftest import CALL, ROOT, Run, redefined
from paceline.comparison.contenders import contenders
from paceline.errors import StudyError, UsageError
from paceline.guests import using
from paceline.simulation import registry
from paceline.studies.definition import Study, load
from paceline.studies.engine import prepare, run_study
from paceline.studies.metrics import Longest, Setting
from paceline.studies.parts import part

STUDY = """\
name = "little"
title = "Two controllers over two links"
scenario = "call.toml"
seeds = [1, 2, 3]
parameters = false

[cells]
of = "controller"

[cells.bad]
slow = "rate < 0.5"
odd = "design = 'links' AND seed = 3"

[factors.controller.sets]
scream = { "flows.vid*.controller" = "scream" }
um = { "flows.vid*.controller" = "um", "flows.vid*.ecn" = "off" }

[factors.rate-of-link]
path = "links.bottleneck.rate"
unit = "Mbps"
levels = [0.2, 5]

[factors.wrong.sets]
no = {}
yes = { "links.bottleneck.loss" = { kind = "bernoulli", ratio = 0 }, "flows.video.ecn" = "classic" }

[designs.links]
kind = "factorial"
factors = ["rate-of-link", "controller"]

[designs.ecn]
kind = "factorial"
factors = ["controller", "wrong"]

[metrics]
rate = { kind = "summary-over", path = "flows.vid*.throughput_mbps", statistic = "mean" }

[pictures.groups]
kind = "groups"

[pictures.links]
kind = "map"
design = "links"
across = "rate-of-link"
up = "controller"
"""


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    """The folder of a study of four cells, of which one cannot run under UM."""
    folder = tmp_path / "little"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"4s"'))
    (folder / "study.toml").write_text(STUDY)
    return folder


def test_a_level_is_good_where_most_of_its_seeds_have_no_fault(cells: Path, tmp_path: Path) -> None:
    result = run_study(cells, out=tmp_path / "out", workers=1)
    found = pd.read_csv(tmp_path / "out" / "cells.csv").set_index(["cell", "controller"])
    assert len(found) == 8
    fast = found.loc["links rate-of-link=5Mbps"]
    assert fast["good"].all()
    assert np.allclose(fast["odd"], 1 / 3, atol=1e-3)
    assert not fast["slow"].any()
    slow = found.loc["links rate-of-link=0.2Mbps"]
    assert not slow["good"].any()
    assert (slow["slow"] == 1).all()
    # A run that cannot be is counted as bad, and its row says why; the study goes on.
    assert found.loc[("ecn wrong=yes", "um"), "failed"] == 1
    assert result.state.failed == 3
    assert "ignores marks" in str(result.error)
    good = (tmp_path / "out" / "tables" / "good-cells.md").read_text()
    assert "| all | 4 | 75 | 50 | 75 |" in good
    assert (tmp_path / "out" / "tables" / "nobody.md").read_text().endswith("| links rate-of-link=0.2Mbps |\n")
    assert sorted(one.name for one in (tmp_path / "out" / "plots").glob("*.png")) == ["groups.png", "links.png"]


def test_rules_change_without_a_run(cells: Path, tmp_path: Path) -> None:
    run_study(cells, out=tmp_path / "out", workers=1)
    redefined(cells, "rate < 0.5", "rate < 0.01")
    result = run_study(cells, out=tmp_path / "out", workers=1)
    assert result.state.taken_over == result.state.total == 24
    assert "| all | 4 | 100 | 75 | 100 |" in (tmp_path / "out" / "tables" / "good-cells.md").read_text()


def test_a_cell_keeps_its_half_and_a_part_its_numbers(cells: Path, tmp_path: Path) -> None:
    rows = paceline.study(cells, out=tmp_path / "all", workers=1).results
    halves = rows.groupby("cell")["half"].unique().map(list).to_dict()
    assert halves == {
        "links rate-of-link=0.2Mbps": ["search"],
        "links rate-of-link=5Mbps": ["search"],
        "ecn wrong=no": ["held-out"],
        "ecn wrong=yes": ["held-out"],
    }
    wanted = {"half": ["search"], "controller": ["um"], "design": ["links", "ecn"]}
    own = paceline.study(cells, out=tmp_path / "part", workers=1, only=wanted).results
    assert list(own["experiment"].unique()) == ["links/2", "links/4"]
    both = rows.merge(own, on=["experiment", "seed"])
    assert len(both) == len(own) == 6
    assert (both["metric.rate_x"] == both["metric.rate_y"]).all()
    assert (both["command_x"] == both["command_y"]).all()


def test_one_command_adds_a_controller(cells: Path, cli: Run, tmp_path: Path) -> None:
    added = ("--also", "mine=um,k2=0.5", "--only", "controller='mine'", "--only", "design=links")
    done = cli("study", cells, *added, "--out", tmp_path / "mine")
    assert done.returncode == 0
    assert "| all | 2 | 50 | 50 |" in done.stdout
    # Keys that the study sets for UM hold for another UM.
    mine = load(cells, also=["mine=um,k2=0.5"]).factors["controller"].sets
    assert mine is not None
    assert mine["mine"]["flows.vid*.ecn"] == "off"


def test_a_part_stands_beside_the_verdicts_of_the_whole(cells: Path, cli: Run, tmp_path: Path) -> None:
    redefined(cells, 'of = "controller"', 'of = "controller"\nearlier = "verdicts.csv"')
    (cells / "README.md").write_text("<!-- table good-cells: here -->\n<!-- end of table -->\n")
    whole = cli("study", cells, "--out", tmp_path / "whole", "--write-verdict")
    assert whole.returncode == 1, "runs failed"
    assert "| all | 4 | 75 | 50 | 75 |" in (cells / "README.md").read_text()
    assert "ecn wrong=yes,1,0" in (cells / "verdicts.csv").read_text()
    # UM cannot run in one cell, in which SCReAM was good.
    um = part(load(cells), {"controller": ["um"]})
    result = run_study(um, out=tmp_path / "part", workers=1)
    assert "| all | 4 | 50 | 75 |" in str(result.tables["good-cells"])
    assert result.tables["behind"].lines == [["ecn wrong=yes"]]
    refused = cli("study", cells, "--only", "controller=um", "--out", tmp_path / "part", "--write-verdict")
    assert "found a part of the study" in refused.stderr
    (cells / "verdicts.csv").write_text("name\nx\n")
    with pytest.raises(StudyError, match="expected a column `cell`"):
        run_study(um, out=tmp_path / "part", workers=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"only": {"controllers": ["um"]}}, "--only controllers: found 'controllers', expected one of controller"),
        ({"only": {"controller": ["um2"]}}, "--only controller=um2: found 'um2', expected one of scream, um"),
        ({"only": {"half": ["third"]}}, "--only half=third: found 'third', expected one of search, held-out"),
        ({"only": {"design": ["ecn"], "rate-of-link": ["5"]}}, "found no experiment that is so"),
        ({"also": ["um"]}, "--also: found 'um', which the study has"),
        ({"also": ["x=nothing"]}, "found kind 'nothing'"),
    ],
)
def test_wrong_parts_are_refused(cells: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as error:
        part(load(cells, also=options.get("also", [])), options.get("only", {}))
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('of = "controller"', 'of = "speed"', "cells.of: found 'speed'"),
        ("rate < 0.5", "speed < 0.5", "cells.bad.slow: found 'speed < 0.5'"),
        ("slow =", "failed =", "cells.bad.failed: found the fault of a run that failed"),
        ('up = "controller"', 'up = "wrong"', "pictures.links.up: found 'wrong'"),
    ],
)
def test_wrong_rules_are_refused(cells: Path, old: str, new: str, said: str) -> None:
    redefined(cells, old, new)
    with pytest.raises(StudyError) as error:
        load(cells)
    assert said in str(error.value)


def test_the_longest_silence_and_the_first_setting_there_is() -> None:
    silent = {"flows.video.pause": [["1s", "4s"], ["6s", "8s"]], "duration": "10s", "sample": "100ms"}
    result = paceline.run(CALL, overrides=silent)
    longest = Longest(name="silent", column="throughput_mbps", at_most=0.0).value(result)
    assert longest is not None
    assert 2.5 < longest <= 3.0
    assert Longest(name="never", column="throughput_mbps", at_most=-1.0).value(result) == 0.0
    assert Longest(name="always", column="throughput_mbps", at_most=1e9).value(result) == pytest.approx(10.0)
    limit = Setting(name="limit", path=("flows.video.bitrate.max", "flows.v*.controller.target_bitrate_max"))
    assert limit.value(result) == 100e6


# ---- The study.


@pytest.fixture(scope="module")
def envelope() -> Study:
    """The study as it is."""
    return load(ROOT / "studies" / "envelope")


NO_MEDIA = {"fixed", "none", "ccid2", "ccid3"}
"""Kinds of no control, and of DCCP, which knows no limits of a call."""


def test_envelope_has_every_controller_of_media_and_a_thousand_cells(envelope: Study) -> None:
    kinds = registry()["controllers"]
    wanted = {
        f"{one['kind']}:{profile['name']}"
        for one in kinds
        for profile in one["profiles"]
        if "rtp" in one.get("over", "rtp") and one["kind"] not in NO_MEDIA and profile["name"] != "ns2"
    }
    wanted = {one.label for one in contenders(sorted(wanted)) if one.transport not in {"tcp", "sctp"}}
    assert wanted <= set(envelope.factors["controller"].values)
    names = [
        envelope.cells.cell(design.name, design.point(number), envelope.factors)
        for design in envelope.designs.values()
        for number in range(len(design))
        if envelope.cells is not None
    ]
    cells = set(names)
    assert len(cells) >= 1000
    assert len(names) == len(cells) * len(envelope.factors["controller"].values)
    assert envelope.cells is not None
    search = sum(envelope.cells.half(cell) == "search" for cell in cells)
    assert 0.45 < search / len(cells) < 0.55


def test_envelope_judges_a_few_cells(tmp_path: Path) -> None:
    wanted = {"design": ["routes"], "controller": ["um:paper"]}
    result = paceline.study(ROOT / "studies" / "envelope", out=tmp_path / "out", workers=1, only=wanted)
    assert result.state.failed == 0
    assert "| all | 18 | 100 | 100 |" in (tmp_path / "out" / "tables" / "good-cells.md").read_text()


def test_every_controller_can_begin_in_every_group(envelope: Study) -> None:
    context, _ = prepare(envelope)
    for first, design in zip(envelope.firsts(), envelope.designs.values(), strict=True):
        for number in range(len(envelope.factors["controller"].values)):
            context.scenario(envelope.experiment(first + number * len(design.seeds))).load()


class Aimless:
    """A controller that has a mistake"""

    steers = "media"

    def __init__(self, flow: object) -> None:
        self.flow = flow

    def start(self, now_s: float) -> dict[str, float]:
        return {"target_mbps": 1.0, "pacing_mbps": 1.5}

    def report(self, now_s: float, packets: object) -> dict[str, float]:
        raise ZeroDivisionError("a mistake")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_controller_with_a_mistake_is_bad_and_the_study_goes_on(cells: Path, tmp_path: Path, workers: int) -> None:
    with using({"aimless": Aimless}):
        wanted = {"controller": ["aimless", "scream"], "design": ["links"]}
        result = paceline.study(cells, out=tmp_path / "out", workers=workers, also=["aimless"], only=wanted)
    assert result.state.failed == 6
    assert result.error is not None
    assert "ZeroDivisionError: a mistake" in result.error
    assert "| failed | aimless | links rate-of-link=5Mbps |" in str(result.tables["broken"])
    assert "| all | 2 | 50 | 0 | 50 |" in str(result.tables["good-cells"])
