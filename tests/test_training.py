"""The training of a profile-guided build (`make wheel`): it can be run, and no transport or queue is left out."""

import runpy
from typing import Any

import pytest

import paceline
from conftest import ROOT
from paceline import _core
from paceline.scenario import read


@pytest.fixture
def worlds() -> list[dict[str, Any]]:
    training = runpy.run_path(str(ROOT / "benches" / "training.py"))
    return [world for part in ("calls", "transfers", "mixtures", "sweep") for world in training[part]()]


def test_the_training_is_sound_and_leaves_nothing_out(worlds: list[dict[str, Any]]) -> None:
    for world in worlds:
        read(world).load()
    queues = {link["queue"]["kind"] for world in worlds for link in world["links"].values()}
    assert queues == {queue["kind"] for queue in paceline.registry()["queues"]}
    transports = {flow["transport"] for world in worlds for flow in world["flows"].values()}
    assert transports == {"rtp", "tcp", "dccp", "sctp", "udp"}


def test_the_extension_says_how_it_was_built() -> None:
    assert _core.build.startswith(("working build", "release build"))
