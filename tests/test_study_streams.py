"""The study scream-streams: one run of it, and figures and pictures of one stream."""

from pathlib import Path

import pytest

import paceline
from conftest import ROOT
from paceline.studies.definition import load
from paceline.studies.metrics import MetricSpec
from paceline.studies.spec import DefinitionError, read

STREAMS = ROOT / "studies" / "scream-streams"


def rate(result: paceline.Result, stream: str) -> float:
    said = {"kind": "series", "column": "throughput_mbps", "statistic": "mean", "spans": [[30, 40]], "name": "rate"}
    found = read("metrics.rate", said | {"stream": stream}, MetricSpec).value(result)
    assert found is not None
    return found


def test_streams_share_by_priority_and_each_has_figures_of_its_own() -> None:
    early = {"streams.screen.start": "10s", "streams.screen.stop": "50s"}
    overrides = {"duration": "60s", **{f"flows.call.{name}": at for name, at in early.items()}}
    result = paceline.run(STREAMS / "call.toml", overrides=overrides)
    camera, screen, speech = (rate(result, stream) for stream in ("camera", "screen", "speech"))
    assert 1.6 < camera / screen < 2.6, "priorities of 1 and 0.5"
    assert 0.04 < speech < 0.072
    assert camera + screen + speech > 6.5
    with pytest.raises(DefinitionError, match="found 'slides', expected"):
        rate(result, "slides")


def test_every_claim_is_made_of_every_system_and_link() -> None:
    study = load(STREAMS)
    made = {row.id for row in study.published}
    claims = ("shares", "speech", "joins", "used", "leaves")
    systems, links = ("rfc8298", "reference-2022", "robust"), ("constant", "marking", "walk")
    assert made == {f"{link}-{system}-{claim}" for link in links for system in systems for claim in claims}
    assert Path(STREAMS / "shares.png").is_file()
    assert study.pictures["shares"].lines == "stream"
