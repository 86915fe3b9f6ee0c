"""`paceline run --draw`: the table behind the picture, the text, and the files."""

from pathlib import Path

import pytest

from conftest import Run
from paceline.plots import topology
from paceline.scenario import read
from paceline.toml import loads

SCENARIO = """
name = "parking lot"
duration = "2s"
[links.one]
rate = "10Mbps"
delay = "5ms"
queue = { kind = "codel" }
[links.two]
rate = { steps = [["0s", "8Mbps"], ["1s", "4Mbps"]] }
queue = { packets = 40 }
loss = { kind = "bernoulli", ratio = 0.01 }
down = [["1s", "1.5s"]]
[links.back]
rate = "1Mbps"
queue = { packets = 20 }
[flows.call]
controller = "scream"
source = { kind = "cbr" }
path = ["one", "two"]
return_path = ["back"]
[flows.rival]
transport = "tcp"
controller = "newreno"
source = { kind = "bulk" }
path = ["two"]
count = 3
"""


def table(text: str) -> topology.Topology:
    return topology.table(loads(read(text).load().core.resolved_toml))


def test_links_stand_in_the_order_of_paths_and_those_back_below() -> None:
    boxes = table(SCENARIO).boxes
    assert {name: (box.column, box.row) for name, box in boxes.items()} == {
        "one": (0, 0),
        "two": (1, 0),
        "back": (0, 1),
    }
    assert boxes["one"].lines == ("10Mbps, 5ms", "codel, 1000 packets")
    assert boxes["two"].lines == ("steps, 0s", "droptail, 40 packets", "with loss, down")


def test_flows_that_are_alike_are_one_line() -> None:
    call, rivals = table(SCENARIO).groups
    assert call.label == "call: scream over rtp"
    assert rivals.label == "3 flows, rival-1 to rival-3: newreno over tcp"
    assert (rivals.back, rivals.back_delay) == ((), "0s")


def test_paths_that_cross_each_other_in_both_orders_are_drawn_all_the_same() -> None:
    both = SCENARIO + '[flows.other]\ntransport = "udp"\nsource = { kind = "cbr" }\npath = ["two", "one"]\n'
    drawn = table(both)
    assert {box.column for box in drawn.boxes.values()} <= {0, 1, 2}
    assert topology.figure(drawn).axes


def test_the_picture_has_every_link_and_a_line_for_each_group() -> None:
    drawn = table(SCENARIO)
    (axes,) = topology.figure(drawn).axes
    said = {text.get_text().split("\n")[0] for text in axes.texts}
    assert said >= {"one", "two", "back", "senders", "receivers"}
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [group.label for group in drawn.groups]


def test_draw_prints_writes_pictures_and_does_not_run(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "lot.toml"
    path.write_text(SCENARIO)
    done = cli("run", path, "--draw", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "sender --[one: 10Mbps, 5ms; codel, 1000 packets]--[two: steps, 0s;" in done.stdout
    assert "receiver --(0s, unloaded)--> sender" in done.stdout
    assert sorted(file.name for file in (tmp_path / "out").rglob("*.*")) == ["topology.png", "topology.svg"]
    assert (tmp_path / "out" / "plots" / "topology.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("change", ['path = ["gone"]', "no table at all ]["])
def test_a_scenario_that_is_wrong_is_not_drawn(cli: Run, tmp_path: Path, change: str) -> None:
    path = tmp_path / "lot.toml"
    path.write_text(SCENARIO.replace('path = ["one", "two"]', change))
    done = cli("run", path, "--draw", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert not (tmp_path / "out").exists()


def test_draw_into_what_is_no_folder_is_said(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "lot.toml"
    path.write_text(SCENARIO)
    (tmp_path / "out").write_text("a file")
    done = cli("run", path, "--draw", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "expected a folder" in done.stderr
