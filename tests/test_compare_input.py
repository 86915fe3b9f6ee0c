"""Arguments of `paceline compare`: controllers, seeds, scenarios, recordings, networks, rightly and wrongly."""

from pathlib import Path
from typing import Any

import pytest

import paceline
from conftest import CALL, ROOT
from paceline import trace_files
from paceline.comparison import conditions, grammar
from paceline.comparison.contenders import OF_TRANSPORTS, contenders
from paceline.errors import DataNotFound, ScenarioError, UsageError
from paceline.scenario import ScenarioText
from paceline.simulation import registry
from paceline.video import figures as video

SHORT = CALL.replace('"10s"', '"2s"').replace('["5s", "4Mbps"]', '["1s", "4Mbps"]')


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A call of two seconds as a file."""
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    return path


# Files.


def test_the_parts_of_a_text() -> None:
    found = grammar.read(
        "controller", "mine=scream:rfc8298,qdelay_target_lo=60ms,gain=1.5,flow.tcp={ a = 1, b = [2, 3] }"
    )
    assert (found.label, found.head) == ("mine", "scream:rfc8298")
    assert found.values == {"qdelay_target_lo": "60ms", "gain": 1.5, "flow.tcp": {"a": 1, "b": [2, 3]}}
    assert grammar.read("over", "scream,a=1").label is None, "an equals sign behind a comma makes no label"
    for wrong in ("", "x=", "scream,", "scream,gain", "scream,gain=", "scream,a=1,a=2"):
        with pytest.raises(UsageError, match="expected"):
            grammar.read("controller", wrong)


def test_seeds_are_a_count_or_a_list() -> None:
    assert grammar.seeds_of("3") == (1, 2, 3)
    assert grammar.seeds_of("11-13,5") == (11, 12, 13, 5)
    for wrong in ("0", "", "x", "3-", "5-3", "1,1", "1-10000000", "-2"):
        with pytest.raises(UsageError, match="seeds"):
            grammar.seeds_of(wrong)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"seeds": True}, "seeds: found True, expected how many"),
        ({"seeds": 2.5}, "seeds: found 2.5, expected how many"),
        ({"seeds": None}, "seeds: found None"),
        ({"seeds": "3"}, "seeds: found '3'"),
        ({"seeds": []}, "seeds: found 0 of them"),
        ({"seeds": [0, 0]}, "seeds: found 0 more than once"),
        ({"weights": 5}, "weights: found 5, expected names"),
        ({"weights": {1: 2.0}}, "weights: found '1', expected one of"),
        ({"controllers": None}, "controllers: found None, expected a list"),
        ({"controllers": [{"kind": ["urcp"]}, "bbr"]}, r"found kind \['urcp'\], expected one of"),
        ({"over": None}, "over: found None, expected a list"),
        ({"over": [5]}, "over: found 5, expected a scenario"),
        ({"over": b"wimax"}, "over: found b'wimax'"),
        ({"warmup": 5}, "warmup: found 5, expected a time"),
        ({"workers": 0}, "workers: found 0, expected 1 or more"),
        ({"workers": -1}, "workers: found -1"),
    ],
)
def test_arguments_of_the_wrong_type_are_named(arguments: dict[str, Any], said: str, tmp_path: Path) -> None:
    usual: dict[str, Any] = {"controllers": ["urcp", "bbr"], "over": "wimax", "seeds": 1, "duration": "1s"}
    with pytest.raises(UsageError, match=said):
        paceline.compare(**{**usual, **arguments}, out=tmp_path / "out")


@pytest.mark.usefixtures("unpainted")
def test_one_name_stands_for_a_list_of_one(tmp_path: Path) -> None:
    """Letter by letter `flows="med"` would mean a flow called `m`, and `join` would look for a folder of one letter."""
    over = (
        SHORT
        + '[flows.other]\ncontroller = "fixed"\npath = ["bottleneck"]\nsource = { kind = "cbr", rate = "1Mbps" }\n'
    )
    found = paceline.compare(["urcp", "um"], over=over, flows="video", seeds=1, workers=1, out=tmp_path / "a")
    assert next(iter(found.measured.values()))[0] == ["video"]
    with pytest.raises(UsageError, match="found none of vid"):
        paceline.compare(["urcp", "um"], over=over, flows="vid", seeds=1, workers=1, out=tmp_path / "b")
    again = paceline.compare([], join=str(tmp_path / "a"), out=tmp_path / "c")
    assert again.controllers == ["urcp", "um"]


def test_every_controller_there_is_can_be_compared() -> None:
    kinds = [one["kind"] for one in registry()["controllers"]]
    found = {one.label: one.transport for one in contenders(kinds)}
    assert list(found) == kinds
    assert (found["scream"], found["bbr"], found["ccid3"], found["none"]) == ("rtp", "tcp", "dccp", "udp")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("scrm", "found kind 'scrm', expected one of .*; did you mean 'scream'"),
        ("scream:rfc1", 'controller scream:rfc1: .*profile: found "rfc1"'),
        ("scream,qdelay_target_l=3ms", 'qdelay_target_l: found an unknown key.*did you mean "qdelay_target_lo"'),
        ("scream,qdelay_target_lo=3", "qdelay_target_lo: found 3 .*expected a time"),
        ("newreno,flow.transport=rtp", 'transport: found "rtp".*expected one of "tcp", "sctp"'),
        ("scream,kind=tfrc", "found 'kind'"),
    ],
)
def test_a_controller_that_is_written_wrongly(written: str, said: str) -> None:
    with pytest.raises((UsageError, ScenarioError), match=said):
        contenders([written])


def test_a_table_says_the_same_as_a_text() -> None:
    [text] = contenders(["mine=scream:rfc8298,qdelay_target_lo=60ms,flow.ecn=l4s"])
    table = {
        "label": "mine",
        "kind": "scream",
        "profile": "rfc8298",
        "qdelay_target_lo": "60ms",
        "flow": {"ecn": "l4s"},
    }
    assert contenders([table]) == [text]


# Conditions.


def test_a_replaced_controller_brings_its_transport_and_keeps_the_medias_limits(tmp_path: Path) -> None:
    path = tmp_path / "call.toml"
    own = 'controller = { kind = "scream", target_bitrate_max = "3Mbps", qdelay_target_lo = "50ms" }\nrecord = ["cwnd"]'
    path.write_text(
        SHORT.replace('controller = { kind = "scream", profile = "reference-2022" }', own)
        + 'feedback = { packets = 4 }\nplayout = { kind = "fixed", delay = "50ms" }\n'
    )
    path.write_text(path.read_text().replace('record = ["cwnd"]\n', ""))
    [condition] = conditions.conditions([str(path)])
    texts = {one.label: condition.text(one) for one in contenders(["scream:rfc8298", "newreno", "ccid2", "tfrc"])}
    flows = {label: paceline.toml.loads(text)["flows"]["video"] for label, text in texts.items()}
    assert flows["scream:rfc8298"]["controller"] == {"kind": "scream", "profile": "rfc8298"}
    limits = {"min": "50kbps", "start": "300kbps", "max": "3Mbps"}
    assert [flows[label].get("bitrate") for label in texts] == [limits, None, None, limits]
    assert flows["newreno"]["controller"] == {"kind": "newreno"}
    assert (flows["newreno"]["transport"], flows["newreno"]["source"]["kind"]) == ("tcp", "trace-encoder")
    assert not {"feedback", "playout"} & set(flows["newreno"])
    assert (flows["ccid2"]["transport"], flows["ccid2"]["source"]["kind"]) == ("dccp", "trace-encoder")
    assert "playout" in flows["ccid2"]
    assert "feedback" not in flows["ccid2"]
    assert flows["tfrc"]["feedback"] == {"packets": 4}
    for text in texts.values():
        assert paceline.run(text).summary["packets"] > 0


def test_over_tcp_several_streams_become_the_first() -> None:
    [condition] = conditions.conditions([str(ROOT / "scenarios" / "three-cameras.toml")])
    texts = [condition.text(one) for one in contenders(["newreno", "file=bbr,flow.source=bulk", "scream"])]
    flows = [paceline.toml.loads(text)["flows"]["vehicle"] for text in texts]
    assert flows[0]["source"]["kind"] == "trace-encoder"
    assert flows[1]["source"] == {"kind": "bulk"}
    assert set(flows[2]["streams"]) == {"front", "left", "right"}
    assert not any("streams" in flow for flow in flows[:2])
    for text in texts:
        assert paceline.run(text, overrides={"duration": "1s", "warmup": "0s"}).summary["packets"] > 0


@pytest.mark.parametrize(("said", "conceals"), [("feedback", "all"), ("tcp", "losses"), ("sctp", "all")])
def test_a_receiver_that_does_not_comply_conceals_it_from_every_controller(said: str, conceals: str) -> None:
    transport = {"feedback": "rtp"}.get(said, said)
    controller, source = ("scream", {"kind": "cbr"}) if transport == "rtp" else ("cubic", {"kind": "bulk"})
    flow = {
        "transport": transport,
        "controller": controller,
        "source": source,
        "path": ["l"],
        said: {"conceals": conceals},
    }
    links = {"l": {"rate": "5Mbps", "queue": {"packets": 9}}}
    table = {"duration": "1s", "links": links, "flows": {"a": flow}}
    [found] = conditions.conditions([table])
    for contender in contenders(["gcc", "cubic", "sctp"]):
        replaced = paceline.toml.loads(found.text(contender))["flows"]["a"]
        where = {"rtp": "feedback"}.get(contender.transport, contender.transport)
        assert {key: replaced[key] for key in OF_TRANSPORTS if key in replaced} == {where: {"conceals": conceals}}


def test_a_file_beside_a_scenario_is_found_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("0 8\n1 3\n2 6\n3 2\n")
    rate = 'rate = { steps = [["0s", "8Mbps"], ["1s", "4Mbps"]] }'
    assert rate in SHORT
    path = tmp_path / "call.toml"
    path.write_text(SHORT.replace(rate, 'rate = { trace = "walk.csv", format = "time-mbps" }'))
    [condition] = conditions.conditions([str(path)])
    assert condition.table["links"]["bottleneck"]["rate"]["trace"] == str(tmp_path / "walk.csv")
    (tmp_path / "walk.csv").write_text("0 8\n1 3\n2 6\n3 1\n")
    assert conditions.conditions([str(path)])[0].digest != condition.digest, "another recording gives other rows"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("0 5\n1 3\n2 8\n3 2\n", "time-mbps"),
        ("t,mbps\n0,5\n1,3\n2,8\n3,2\n", "time-mbps"),
        ("5 0.3\n3 0.3\n8 0.2\n2 0.3\n", "mbps-hold"),
        ("1\n1\n4\n9\n", "mahimahi"),
        ("5.5\n3.5\n", "mbps"),
        ("0 1\n1 2\n2 3\n", None),
        ("0 5 1\n1 3 1\n", None),
        ("words\n", None),
        ("", None),
    ],
)
def test_the_format_of_a_recording_is_told_where_there_is_only_one(
    tmp_path: Path, lines: str, expected: str | None
) -> None:
    file = tmp_path / "trace.txt"
    file.write_text(lines)
    if expected is None:
        with pytest.raises(UsageError, match="FILE,format=NAME"):
            trace_files.format_of(file)
    else:
        assert trace_files.format_of(file) == expected


@pytest.mark.parametrize(
    ("controller", "flow", "expected"),
    [
        ("scream", "", {"min": "50kbps", "start": "300kbps", "max": "100Mbps"}),
        ("urcp", 'bitrate = { start = "1Mbps" }', {"min": "50kbps", "start": "1Mbps", "max": "100Mbps"}),
        ("scream", 'bitrate = { max = "200kbps" }', {"min": "50kbps", "max": "200kbps"}),
        ("gcc", 'bitrate = { max = "20kbps" }', {"max": "20kbps"}),
        ("scream,target_bitrate_min=500kbps", "", {"max": "100Mbps"}),
        ("urcp,first_rate=80kbps", "", {"max": "100Mbps"}),
        ("um,flow.bitrate.start=2Mbps", "", {"min": "50kbps", "start": "2Mbps", "max": "100Mbps"}),
    ],
)
def test_all_have_the_same_bitrates_unless_asked(controller: str, flow: str, expected: dict[str, str]) -> None:
    [condition] = conditions.conditions([f"{SHORT}{flow}\n"])
    [one] = contenders([controller])
    text = condition.text(one)
    assert paceline.toml.loads(text)["flows"]["video"]["bitrate"] == expected
    paceline.run(text)


def test_a_clock_that_steps_back_once_is_a_clock(tmp_path: Path) -> None:
    file = tmp_path / "trace.txt"
    file.write_text("".join(f"{second - 3 * (second == 20)} {second % 3}\n" for second in range(40)))
    assert trace_files.format_of(file) == "time-mbps"


def test_a_recording_becomes_a_call_whose_media_can_fill_it(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("0 8\n1 3\n2 12\n3 2\n")
    written = f"walk={tmp_path / 'walk.csv'},delay=5ms,queue=100ms,duration=3s,interval=1s"
    [condition] = conditions.conditions([written])
    [scream] = contenders(["scream"])
    table = paceline.toml.loads(condition.text(scream))
    assert condition.name == "walk"
    assert (table["duration"], table["links"]["network"]["delay"]) == ("3s", "5ms")
    assert table["links"]["network"]["queue"] == {"kind": "droptail", "limit": "100ms"}
    assert table["flows"]["media"]["bitrate"] == {"min": "50kbps", "start": "300kbps", "max": "12000kbps"}
    with pytest.raises(UsageError, match="found key 'dely'"):
        conditions.conditions([f"{tmp_path / 'walk.csv'},dely=5ms"])
    with pytest.raises(ScenarioError, match=r"over walk: links\.network\.delay: found 5"):
        conditions.conditions([f"{tmp_path / 'walk.csv'},delay=5"])


@pytest.mark.parametrize(
    ("given", "options", "seconds"),
    [
        ("wimax", {}, 10.0),
        ("wimax,duration=30s", {}, 5.0),
        ("wimax", {"duration": "12s"}, 2.0),
        ("wimax", {"warmup": "3s"}, 3.0),
        ("wimax,warmup=4s", {"warmup": "3s"}, 4.0),
        ("SHORT", {}, 0.333),
        ("SHORT,duration=90s", {}, 10.0),
        ("SHORT", {"warmup": "500ms"}, 0.5),
        ("SHORT,warmup=0s", {}, 0.0),
        ("OWN,duration=60s", {}, 1.0),
        ("OWN", {"warmup": "0s"}, 0.0),
        ("NONE", {}, 0.0),
    ],
)
def test_the_warm_up_is_the_scenarios_or_the_commands_or_a_sixth(
    given: str, options: dict[str, str], seconds: float, short: Path
) -> None:
    for name, warmup in (("OWN", "1s"), ("NONE", "0s")):
        short.with_name(f"{name}.toml").write_text(f'warmup = "{warmup}"\n{SHORT}')
    short.rename(short.with_name("SHORT.toml"))
    head, comma, rest = given.partition(",")
    written = given if head == "wimax" else f"{short.with_name(head)}.toml{comma}{rest}"
    [condition] = conditions.conditions([written], **options)
    assert condition.start_up == (0.0, seconds)
    text = condition.text(*contenders(["scream"]))
    core = ScenarioText(text, None, [], condition.settings).load().core
    assert video.seconds(paceline.toml.loads(core.resolved_toml)["warmup"]) == seconds


def test_another_warm_up_is_another_condition(short: Path) -> None:
    digests = {conditions.conditions([str(short)], warmup=one)[0].digest for one in (None, "0s", "1s")}
    assert len(digests) == 3


def test_a_named_network_is_asked_of_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = registry() | {"networks": [{"kind": "moonlink"}]}
    monkeypatch.setattr(conditions, "registry", lambda: asked)
    with pytest.raises(ScenarioError, match=r"over moonlink: .*network"):
        conditions.conditions(["moonlink"])
    with pytest.raises(DataNotFound, match="named networks: moonlink"):
        conditions.conditions(["moonlonk"])


@pytest.mark.parametrize("network", [one["kind"] for one in registry().get("networks", ())])
@pytest.mark.usefixtures("unpainted")
def test_each_named_network_carries_a_call(network: str, tmp_path: Path) -> None:
    result = paceline.compare(
        ["scream", "newreno"], over=network, seeds=1, duration="2s", out=tmp_path / "o", workers=1
    )
    assert not result.failures
    assert (result.medians["throughput_mbps"] > 0).all()


def test_conditions_that_are_written_wrongly(tmp_path: Path, short: Path) -> None:
    with pytest.raises(DataNotFound, match=r"over nope\.csv: no such scenario"):
        conditions.conditions(["nope.csv"])
    with pytest.raises(UsageError, match="--flow with one or more of camera, slides"):
        conditions.conditions([str(ROOT / "scenarios" / "coupled-call.toml")])
    with pytest.raises(UsageError, match="none of x, expected --flow"):
        conditions.conditions([str(ROOT / "scenarios" / "coupled-call.toml")], flows=["x"])
    with pytest.raises(UsageError, match="found two called 'short'"):
        conditions.conditions([str(short), str(short)])
    with pytest.raises(UsageError, match="that flow gets each controller"):
        conditions.conditions([f"{short},flows.video.controller.mss=1000B"])
    short.write_text(SHORT.replace("queue =", "quue ="))
    with pytest.raises(ScenarioError, match=r"short\.toml:\d+: links\.bottleneck\.quue"):
        conditions.conditions([str(short)])
