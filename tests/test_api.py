"""The Python package: what `paceline.run` takes and gives."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import paceline
from conftest import CALL
from paceline import _core
from paceline.figures import figures
from paceline.outputs import OutputFolder
from paceline.toml import loads, toml_value


def test_a_path_a_text_and_a_dictionary_give_the_same(call_file: Path, call: paceline.Result) -> None:
    for scenario in (call_file, str(call_file), loads(CALL)):
        pd.testing.assert_frame_equal(paceline.run(scenario).flows, call.flows)


def test_overrides_are_values_or_texts(call: paceline.Result) -> None:
    slow = paceline.run(CALL, overrides={"links.bottleneck.rate": "2Mbps", "duration": "10s"})
    assert slow.summary["flows"]["video"]["throughput_mbps"] < 2 < call.summary["flows"]["video"]["throughput_mbps"]
    steps = paceline.run(CALL, overrides={"links.bottleneck.rate": {"steps": [["0s", "2Mbps"]]}})
    assert steps.links["capacity_mbps"].max() == 2


def test_threads_change_nothing() -> None:
    """A hundred flows, whose rounds are large enough to be shared."""
    world = {
        "duration": "1s",
        "links": {"all": {"rate": "3Gbps", "delay": "10ms", "queue": {"limit": "20ms"}}},
        "flows": {"file": {"controller": "newreno", "source": {"kind": "bulk"}, "path": ["all"], "count": 100}},
    }
    one, three, all_cores = (paceline.run(world, threads=threads) for threads in (1, 3, None))
    assert one.summary["packets"] > 40_000
    for other in (three, all_cores):
        pd.testing.assert_frame_equal(one.flows, other.flows, check_exact=True)
        assert {**one.summary, "wall_s": 0} == {**other.summary, "wall_s": 0}
    with pytest.raises(paceline.UsageError, match="threads: found 0, expected 1 or more"):
        paceline.run(world, threads=0)


def test_the_summary_agrees_with_the_series(call: paceline.Result) -> None:
    flow = call.summary["flows"]["video"]
    assert call.flows["throughput_mbps"].mean() == pytest.approx(flow["throughput_mbps"], rel=1e-6)
    assert call.flows["time_s"].iloc[-1] == pytest.approx(10.0)
    assert flow["throughput_mbps"] <= call.links["capacity_mbps"].mean()


def test_absent_is_null_in_arrow(call: paceline.Result) -> None:
    import pyarrow.compute as pc

    for table in (call.flows_arrow, call.links_arrow):
        for column in table.columns:
            if str(column.type) == "double":
                assert not pc.any(pc.is_nan(column)).as_py()


def test_errors_are_of_one_family(tmp_path: Path) -> None:
    with pytest.raises(paceline.ScenarioError, match="dealy"):
        paceline.run(CALL.replace("delay", "dealy", 1))
    with pytest.raises(paceline.DataNotFound, match="nowhere"):
        paceline.run(tmp_path / "nowhere.toml")
    with pytest.raises(paceline.OutputError, match="cannot be written"):
        paceline.run(CALL, out="/proc/paceline-out")
    with pytest.raises(paceline.UsageError, match="overview"):
        paceline.run(CALL).plot("overwiev")
    for error in (paceline.ScenarioError, paceline.DataNotFound, paceline.OutputError, paceline.StudyError):
        assert issubclass(error, paceline.PacelineError)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scenario": 5}, "scenario: found 5, expected a path"),
        ({"overrides": "x=1"}, "overrides: found 'x=1', expected a dictionary"),
        ({"overrides": ["x=1"]}, "overrides: found 'x=1', expected"),
        ({"overrides": [("seed", 1)]}, "overrides: found .'seed', 1., expected"),
        ({"overrides": 7}, "overrides: found 7, expected"),
        ({"overrides": {7: "x"}}, "overrides: found .7, '\"x\"'., expected"),
        ({"seed": "1"}, "seed: found '1', expected"),
        ({"seed": 2**63}, "seed: found 9223372036854775808, expected a whole number from 0 to 9223372036854775807"),
        ({"data": 5}, "data: found 5, expected"),
        ({"out": 5}, "out: found 5, expected"),
        ({"out": ""}, "out: found '', expected"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(paceline.UsageError, match=said):
        paceline.run(**{"scenario": CALL, **arguments})


def test_what_was_replaced_before_a_failure_is_said(tmp_path: Path) -> None:
    with pytest.raises(paceline.OutputError, match=r"second: cannot be written: .*; in .* only first had been"):
        _stage_and_lose(tmp_path, "first", "second")
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_folder_that_came_in_between_stops_all(tmp_path: Path) -> None:
    with pytest.raises(paceline.OutputError, match=r"second: cannot be written: .*; nothing in .* was replaced"):
        _stage_and_block(tmp_path, "first", "second")
    assert [path.name for path in tmp_path.iterdir()] == ["second"]


def _stage_and_lose(out: Path, *names: str) -> None:
    with OutputFolder(out) as folder:
        for name in names:
            folder.stage(name, "new")
        next(out.glob(f".{names[-1]}.*")).unlink()


def _stage_and_block(out: Path, *names: str) -> None:
    with OutputFolder(out) as folder:
        for name in names:
            folder.stage(name, "new")
        (out / names[-1]).mkdir()


def test_the_registry_says_every_parameter() -> None:
    registry = paceline.registry()
    scream = next(entry for entry in registry["controllers"] if entry["kind"] == "scream")
    assert [profile["name"] for profile in scream["profiles"]] == ["robust", "rfc8298", "reference-2022"]
    for parameter in scream["parameters"]:
        assert all(parameter[key] for key in ("default", "unit", "source", "help")), parameter


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "first").write_text("old")
    with pytest.raises(RuntimeError):
        _stage_and_fail(tmp_path / "out")
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert files == [tmp_path / "out" / "first"]
    assert files[0].read_text() == "old"


def _stage_and_fail(out: Path) -> None:
    with OutputFolder(out) as folder:
        folder.stage("first", "new")
        folder.stage("plots/second", b"new")
        raise RuntimeError


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    with OutputFolder(tmp_path / "out") as folder:
        folder.stage("summary.json", "{}")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.json"]
    assert (tmp_path / "out" / "summary.json").stat().st_mode & 0o444 == 0o444


VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_values_survive_as_toml_on_one_line(value: object) -> None:
    text = toml_value(value)
    assert "\n" not in text
    assert "\r" not in text
    assert loads(f"v = {text}")["v"] == value


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20Mbps", (2e7, "bit/s")),
        ("5ms", (0.005, "s")),
        ("1.5kB", (1500.0, "B")),
        ("100s", (100.0, "s")),
        ("fast", None),
    ],
)
def test_quantities_in_base_units(text: str, found: tuple[float, str] | None) -> None:
    assert _core.quantity(text) == found


def test_parameters_are_numbers_with_units() -> None:
    parameters = _core.Scenario(CALL, overrides=[("links.bottleneck.delay", '"20ms"')]).parameters
    assert parameters["links.bottleneck.delay"] == (0.02, "s")
    assert parameters["flows.video.transport"] == ("rtp", None)
    assert parameters["seed"] == (1, None)
    assert _core.quantity("20Mbps") == (2e7, "bit/s")
    assert _core.quantity("fast") is None


def test_a_column_says_its_unit_and_what_it_is(call: paceline.Result, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    call.save(tmp_path)
    for name, table in (("flows", call.flows_arrow), ("links", call.links_arrow)):
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        assert schema.equals(table.schema, check_metadata=True)
        for field in schema:
            declared = figures(f"{name}.NAME")[field.name]
            assert field.metadata == {b"unit": declared.unit.encode(), b"definition": declared.definition.encode()}
    assert figures("flows.NAME")["srtt_ms"].unit == "ms"


def test_the_summary_holds_the_declared_figures(call: paceline.Result) -> None:
    flow, link = call.summary["flows"]["video"], call.summary["links"]["bottleneck"]
    for table, values in (("flows.NAME", flow), ("links.NAME", link), ("flows.NAME.frames", flow["frames"])):
        assert list(values) == [figure.name for figure in figures(table).values() if figure.summary]
    assert link["offered"] == link["delivered"] + link["dropped"] + link["lost"] + link["waiting"]


@pytest.mark.parametrize(
    ("overrides", "pairs"),
    [
        ({"links": {"bottleneck": {"delay": "20ms"}}}, [("links.bottleneck.delay", '"20ms"')]),
        ({"links.bottleneck": {"delay": "20ms"}}, [("links.bottleneck.delay", '"20ms"')]),
        ({"links": {"bottleneck": {"queue": {"packets": 50}}}}, [("links.bottleneck.queue.packets", "50")]),
        (
            {"links": {"bottleneck": {"queue": {"kind": "codel"}}}},
            [("links.bottleneck.queue", '{ "kind" = "codel" }')],
        ),
        ({"links": {"other": {"rate": "1Mbps"}}}, [("links.other", '{ "rate" = "1Mbps" }')]),
        ({"links": {}}, []),
        ({"flows.video.ecn": "l4s", "seed": 3}, [("flows.video.ecn", '"l4s"'), ("seed", "3")]),
        ({"flows": {"a.b": {"ecn": "l4s"}}}, [('flows."a.b"', '{ "ecn" = "l4s" }')]),
    ],
)
def test_nested_overrides_merge(overrides: dict[str, object], pairs: list[tuple[str, str]]) -> None:
    assert paceline.scenario.read(CALL, overrides=overrides).overrides == pairs


def test_merged_overrides_keep_the_rest_of_the_table() -> None:
    changed = {"duration": "1s", "links": {"bottleneck": {"delay": "33ms", "queue": {"packets": 50}}}}
    resolved = paceline.toml.loads(paceline.run(CALL, overrides=changed).scenario)["links"]["bottleneck"]
    assert resolved["delay"] == "33ms"
    assert resolved["queue"] == {"kind": "droptail", "packets": 50}
    assert len(resolved["rate"]["steps"]) == 2
    quoted = paceline.toml.loads(CALL.replace("flows.video", 'flows."a.b"'))
    with pytest.raises(paceline.ScenarioError, match="ecn"):
        paceline.run(quoted, overrides={"flows": {"a.b": {"ecn": "l5s"}}})


@pytest.mark.parametrize(
    "overrides", [{1: {"a": 2}}, {"": {"a": 2}}, {"links": {"": {}}}, {"..": {"a": 1}}, {"name": {"a": 1}}]
)
def test_odd_overrides_are_said(overrides: dict[object, object]) -> None:
    with pytest.raises(paceline.PacelineError):
        paceline.run(CALL, overrides=overrides)  # type: ignore[arg-type]
