"""Pictures: the table that each computes, and that each can be drawn."""

import re
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest

import paceline
from conftest import CALL, Run
from paceline.cli.chart import chart, sparkline
from paceline.merging import Merged
from paceline.plots import PLOTS, draw, files, overview
from paceline.plots.plot import with_mean_rates
from paceline.plots.style import image, logarithmic, new_figure, settings
from paceline.plots.svg import slim


def table(name: str, result: paceline.Result) -> pd.DataFrame:
    rows = PLOTS[name].table(result)
    assert rows is not None
    return rows


def test_every_figure_of_the_paper_has_a_picture() -> None:
    figures = {int(number) for plot in PLOTS.values() for number in plot.figures.split(", ") if number}
    assert figures == set(range(3, 14))


def test_the_overview_joins_capacity_and_delays(call: paceline.Result) -> None:
    rows = table("overview", call)
    assert list(rows["capacity"].iloc[[0, -1]]) == [8.0, 4.0]
    assert rows["throughput"].iloc[99] == pytest.approx(call.flows["throughput_mbps"].iloc[92:100].mean())
    assert (rows["who"] == "video").all()


def test_rates_and_windows_are_the_samples(call: paceline.Result) -> None:
    rates, window = table("rates", call), table("window", call)
    assert rates["target bitrate"].tolist() == call.flows["target_bitrate_mbps"].tolist()
    assert window["congestion window"].iloc[-1] == call.flows["cwnd_bytes"].iloc[-1] / 1000


def test_rates_are_means_of_each_flow_alone() -> None:
    times = [0.2, 0.4, 0.6] * 2
    rows = pd.DataFrame({"time_s": times, "who": ["a"] * 3 + ["b"] * 3, "rate": [1.0, 3.0, 5.0, 10.0, 10.0, 40.0]})
    assert with_mean_rates(rows, "rate")["rate"].tolist() == [1.0, 2.0, 4.0, 10.0, 10.0, 25.0]


def test_throughput_stands_beside_the_link_rate(call: paceline.Result) -> None:
    rows = table("throughput", call)
    link = rows[rows["what"] == "capacity"]
    assert len(link) == len(rows) / 2 == 200
    assert set(link["mbps"]) == {8.0, 4.0}


def test_delays_hold_all_three(call: paceline.Result) -> None:
    rows = table("delays", call)
    names = ["send-queue delay", "smoothed RTT", "queue delay"]
    assert list(rows.columns) == ["time_s", "who", "controller", *names]


def test_delay_quantiles_are_those_of_the_summary(call: paceline.Result) -> None:
    rows = table("delay_quantiles", call)
    flow = call.summary["flows"]["video"]
    for what, name in (("one-way delay", "one_way_delay_ms"), ("frame delay", "frame_delay_ms")):
        own = rows[rows["what"] == what]
        assert own["part"].tolist() == ["50 %", "95 %", "99 %", "all"]
        assert own["ms"].tolist() == [flow[name][one] for one in ("p50", "p95", "p99", "max")]
    [axes] = draw("delay_quantiles", call).axes
    assert [line.get_label() for line in axes.lines] == ["one-way delay", "frame delay"]
    bulk = CALL.replace('kind = "trace-encoder", generator = "frames", fps = 50', 'kind = "bulk"')
    bulk = bulk.replace('{ kind = "scream", profile = "reference-2022" }', '"reno"').replace('"rtp"', '"tcp"')
    assert set(table("delay_quantiles", paceline.run(bulk))["what"]) == {"one-way delay"}


def test_one_way_and_frame_delay_are_the_samples(call: paceline.Result) -> None:
    for name, column in (("one_way_delay", "one-way delay"), ("frame_delay", "frame delay")):
        shown = call.flows[f"{name}_ms"].dropna().tolist()
        assert table(name, call)[column].tolist() == shown
        assert len(shown) > 150
    # Half of the link's 20 ms each way and a packet's own time are in every delay; a frame waits for its last packet.
    assert table("one_way_delay", call)["one-way delay"].min() >= 10
    assert table("frame_delay", call)["frame delay"].mean() > table("one_way_delay", call)["one-way delay"].mean()


def test_a_flow_without_frames_has_no_picture_of_their_delay() -> None:
    file = (
        'duration = "1s"\n[links.l]\nrate = "8Mbps"\nqueue = { packets = 30 }\n[flows.f]\ntransport = "tcp"\n'
        'controller = "reno"\nsource = { kind = "bulk" }\npath = ["l"]\n'
    )
    bulk = paceline.run(file)
    assert PLOTS["frame_delay"].table(bulk) is None
    assert PLOTS["one_way_delay"].table(bulk) is not None


def test_generated_frames_have_no_original(call: paceline.Result) -> None:
    assert PLOTS["original_frames"].table(call) is None
    with pytest.raises(paceline.UsageError, match="nothing to show"):
        draw("original_frames", call)


def test_the_same_run_gives_the_same_picture(call: paceline.Result) -> None:
    first, second = (dict(files(call, ["overview"])) for _ in range(2))
    assert first == second
    assert first["plots/overview.png"].startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def coupled() -> paceline.Result:
    """The short call with a second one that comes later and shares with it, at half its priority."""
    other = CALL[CALL.index("[flows.video]") :].replace("[flows.video]", "[flows.late]")
    group = '[coupling.calls]\nkind = "active"\nflows = ["video", "late"]\n'
    return paceline.run(f'{CALL}\n{other}\nstart = "3s"\npriority = 0.5\n{group}')


def test_coupled_flows_show_their_rates_under_the_sum(call: paceline.Result, coupled: paceline.Result) -> None:
    rows = table("coupling", coupled).pivot(index="time_s", columns="who")
    rates, sums = rows["rate given"], rows["sum of the group"]
    before, after = rates.index < 3.0, (rates.index > 3.5) & (rates.index < 10.0)
    assert rates["late"][before].isna().all()
    assert rates["video"][before].equals(sums["video"][before])
    assert rates[after].sum(axis=1).tolist() == pytest.approx(sums["video"][after].tolist(), rel=1e-5)
    assert rates["late"][after].tolist() == pytest.approx((rates["video"][after] / 2).tolist(), rel=1e-5)
    assert coupled.summary["flows"]["late"]["coupling"]["assignments"] > 0
    assert PLOTS["coupling"].table(call) is None
    labels = [text.get_text() for text in draw("coupling", coupled).axes[0].get_legend().get_texts()]
    assert labels == ["sum of the group", "late: rate given", "video: rate given"]


OTHERS = ("original_frames", "psnr", "received", "frames", "delay_cdf")
"""Pictures of runs that this file does not have, in test_video, and distributions, in test_pictures."""


@pytest.fixture(scope="module")
def live(call: paceline.Result) -> paceline.Result:
    """As if the simulated call had gone over a line, too."""
    return Merged({"sender": call, "link": call, "receiver": call}, call)


@pytest.mark.parametrize("name", [name for name in PLOTS if name not in OTHERS])
def test_every_picture_has_axes_with_units(
    name: str, call: paceline.Result, coupled: paceline.Result, live: paceline.Result
) -> None:
    shown = coupled if name == "coupling" else live if name == "beside" else call
    figure = draw(name, shown)
    assert all(axes.get_ylabel() in ("Mbit/s", "ms", "kB") for axes in figure.axes)
    across = (
        "part of the packets, or of the frames, that is at most as late" if name == "delay_quantiles" else "time, s"
    )
    assert figure.axes[-1].get_xlabel() == across
    assert image(figure, "svg").startswith(b"<?xml")


def test_two_flows_are_told_apart(call: paceline.Result) -> None:
    twice = pd.concat([overview.table(call), overview.table(call).assign(who="other")])
    from paceline.plots.style import new_figure

    figure = new_figure()
    overview.draw(figure, twice)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"video", "other"} <= set(labels)


@pytest.mark.parametrize("name", ["overview", "throughput", "rates"])
def test_long_names_leave_room_for_the_picture(name: str) -> None:
    long = ["a very long name " * 5 + end for end in ("one", "two")]
    flows = CALL[CALL.index("[flows") :]
    head = CALL[: CALL.index("[flows")].replace("a short call", "a long title " * 20)
    result = paceline.run(head + "".join(flows.replace("flows.video", f'flows."{one}"') for one in long))
    figure = draw(name, result)
    assert image(figure, "svg").startswith(b"<?xml")
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    cut = [label for label in labels if "…" in label]
    assert len(set(cut)) == len(cut) > 1
    assert figure.axes[0].get_position().width > 0.8
    assert figure.axes[0].get_position().height > 0.3
    assert len(figure.get_suptitle()) == 80


def test_letters_that_the_font_lacks_are_said_once(cli: Run, tmp_path: Path) -> None:
    name = "\u6f22\u5b57 \u0938\u0902\u0938 a\u202eb"
    call = tmp_path / "call.toml"
    call.write_text(CALL.replace("a short call", name))
    done = cli("run", call, "--set", "duration=2s", "--plot", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("warning: the font of the pictures lacks letters of the names, such as '\u6f22'") == 1
    assert "Glyph" not in done.stderr
    assert "natively" not in done.stderr


def test_titles_have_no_letters_that_hide() -> None:
    figure = new_figure(8, 3)
    figure.suptitle("a\u202eb")
    figure.fit()
    assert [text.get_text() for text in figure.texts] == ["a\\u202eb"]


def test_without_samples_there_is_nothing_to_draw() -> None:
    empty = paceline.run(CALL, overrides={"sample": "20s"})
    for name in PLOTS:
        with pytest.raises(paceline.UsageError, match="nothing to show"):
            draw(name, empty)
    assert len(chart(empty.flows, empty.links)) == 1


def test_rates_of_nothing_are_nothing() -> None:
    rows = pd.DataFrame({"time_s": [], "who": [], "rate": []})
    assert with_mean_rates(rows, "rate").empty


def test_an_area_keeps_its_shape_without_the_vertices_that_nobody_sees() -> None:
    corners = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 9), (2, 3), (3, 4), (4, 5), (4, 5), (3, 5), (3, 0), (1, 0)]
    path = "\n".join(f"{'L' if index else 'M'} {x}.123456 {y}.5 " for index, (x, y) in enumerate(corners))
    kept = re.findall(r"(\d)\.12 (\d)\.5", slim(f'<path d="{path}\nz\n"/>'))
    shape = [(0, 0), (0, 2), (2, 2), (2, 9), (2, 3), (3, 4), (4, 5), (3, 5), (3, 0), (1, 0)]
    assert [(int(x), int(y)) for x, y in kept] == shape
    curve = '<path d="M 1 1 \nL 2 1 \nQ 3 1 4 1 \nL 5 1 \nM 6 1 \nL 7 1 \nz\n" id="unchanged"/>'
    assert slim(curve) == curve


@pytest.mark.parametrize(("high", "labels"), [(80.0, [1, 2, 5, 10, 20, 50]), (5000.0, [1, 10, 100, 1000])])
def test_decades_have_plain_labels(high: float, labels: list[int]) -> None:
    with mpl.rc_context(settings()):
        figure = new_figure()
        axes = figure.subplots()
        axes.plot([1.0, high], [0.0, 1.0])
        logarithmic(axes, "x")
        figure.canvas.draw()
    low, high = axes.get_xlim()
    found = [label.get_text() for label in axes.get_xticklabels() if low <= label.get_position()[0] <= high]
    assert found == [str(label) for label in labels]


def test_pictures_are_small(call: paceline.Result) -> None:
    """A report holds dozens of them. The link's rate, changed once, takes a few vertices, not one per sample."""
    shade = next(
        path for path in re.findall(r"<path[^>]*>", image(draw("overview", call), "svg").decode()) if "dce6ee" in path
    )
    assert shade.count("L ") < 12


def test_a_sparkline_spans_its_scale() -> None:
    assert sparkline([0, 5, 10, 20], 10) == " ▄██"


def test_the_chart_is_three_lines_and_an_axis(call: paceline.Result) -> None:
    lines = chart(call.flows, call.links, width=40)
    assert len(lines) == 4
    assert "up to 8 Mbit/s" in lines[0]
