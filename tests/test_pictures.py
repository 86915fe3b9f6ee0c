"""Pictures for papers: styles, files and fonts, as a researcher asks for them."""

import io
import pickle
import re
import warnings
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import paceline
from conftest import CALL, Run
from paceline.plots import PLOTS, STYLES, drawn_as, pictures
from paceline.plots.study import axis_of
from paceline.plots.styles import DARK, LIGHT, PRINT
from paceline.plots.vocabulary import FAMILIES, LOOKS, looks


def pdf(figure: Figure) -> bytes:
    sink = io.BytesIO()
    figure.savefig(sink, format="pdf")
    return sink.getvalue()


def fonts(content: bytes) -> set[bytes]:
    """The kinds of the fonts in a PDF."""
    parts = [content]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return {kind for part in parts for kind in re.findall(rb"/Subtype\s*/(Type3|Type0|TrueType|CIDFontType2)\b", part)}


def overlaps(figure: Figure) -> list[str]:
    """Labels and legends that reach out of the figure, and legends that cover the curves."""
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    edge, found = figure.bbox, []
    for axes in figure.axes:
        legend = axes.get_legend()
        for part in (axes.xaxis.label, axes.yaxis.label, axes.title, legend):
            shown = edge if part is None else part.get_window_extent(canvas.get_renderer())
            if shown.x0 < edge.x0 - 2 or shown.x1 > edge.x1 + 2 or shown.y0 < edge.y0 - 2 or shown.y1 > edge.y1 + 2:
                found.append(f"{part} reaches out of the figure")
        if axes.get_position().height * figure.get_figheight() < 0.25:
            found.append(f"axes {axes.get_ylabel()} are flat")
        if legend is not None and legend.get_window_extent().y0 < axes.bbox.y1 - 2:
            found.append(f"the legend of {axes.get_ylabel()} covers what is drawn")
    return found


@pytest.fixture(scope="module")
def pair() -> paceline.Result:
    """Two calls over one link, the second one GCC's."""
    other = CALL[CALL.index("[flows.video]") :].replace("[flows.video]", "[flows.other]")
    other = other.replace('{ kind = "scream", profile = "reference-2022" }', '"gcc"')
    return paceline.run(f"{CALL}\n{other}")


DRAWN = (
    "overview",
    "rates",
    "throughput",
    "delays",
    "one_way_delay",
    "frame_delay",
    "window",
    "delay_quantiles",
    "delay_cdf",
)


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_made_as_narrow_as_a_column_stays_one(name: str, call: paceline.Result) -> None:
    figure = call.plot(name)
    figure.set_size_inches(3.5, 2.6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert overlaps(figure) == []
    assert not figure.get_suptitle(), "a title has no room in a column"
    named = r"\w+, (Mbit/s|ms|kB)$|part of the samples"
    assert all(re.search(named, axes.get_ylabel()) for axes in figure.axes)
    figure.set_size_inches(8, 3.6)
    assert overlaps(figure) == []
    assert figure.get_suptitle(), "wide again, it has its title again"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", DRAWN)
def test_every_style_keeps_legends_and_labels_in_the_picture(
    name: str, style: str, call: paceline.Result, pair: paceline.Result
) -> None:
    for result in (call, pair) if style == "paper" else (pair,):
        assert overlaps(result.plot(name, style=style)) == []


def test_a_paper_has_a_column_and_letters_to_read_and_no_title(call: paceline.Result) -> None:
    figure = call.plot(style="paper")
    assert figure.get_figwidth() == 3.5
    assert not figure.get_suptitle()
    assert all(axes.get_title(loc=where) == "" for axes in figure.axes for where in ("left", "center"))
    assert [axes.get_ylabel() for axes in figure.axes] == ["rate, Mbit/s", "delay of queues, ms"]
    FigureCanvasAgg(figure).draw()
    letters = [text for axes in figure.axes for text in [*axes.get_xticklabels(), axes.yaxis.label]]
    assert min(float(text.get_fontsize()) for text in letters) >= 7


@pytest.mark.parametrize("style", [None, *STYLES])
def test_a_pdf_has_fonts_that_ieee_and_acm_take(style: str | None, call: paceline.Result) -> None:
    assert fonts(pdf(call.plot(style=style))) == {b"Type0", b"CIDFontType2"}


def test_the_same_run_gives_the_same_pdf(call: paceline.Result, tmp_path: Path) -> None:
    for out in ("one", "two"):
        call.save(tmp_path / out, plots=["overview"], style="paper")
    first, second = (tmp_path / out / "plots" / "overview.pdf" for out in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_a_figure_goes_to_another_process(call: paceline.Result) -> None:
    copy = pickle.loads(pickle.dumps(call.plot(style="paper")))
    assert fonts(pdf(copy)) == {b"Type0", b"CIDFontType2"}


def test_an_unknown_style_or_format_is_named(call: paceline.Result, tmp_path: Path) -> None:
    with pytest.raises(paceline.UsageError, match=r"style: found 'papre', .*paper"):
        call.plot(style="papre")
    with pytest.raises(paceline.UsageError, match=r"format: found 'pfd', .*pdf"):
        call.save(tmp_path / "out", plots=True, formats="pfd")
    assert not (tmp_path / "out").exists()


def test_a_style_holds_for_all_that_is_drawn_within_it(call: paceline.Result) -> None:
    with drawn_as("paper"):
        assert call.plot().get_figwidth() == 3.5
        assert call.plot(style="screen").get_figwidth() == 8
    assert call.plot().get_figwidth() == 8


# The command.


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "call.toml"
    path.write_text(CALL)
    return path


def written(out: Path) -> set[str]:
    return {path.suffix for path in (out / "plots").iterdir()}


@pytest.mark.long
def test_a_style_of_the_command_asks_for_pictures(cli: Run, scenario: Path, tmp_path: Path) -> None:
    done = cli("run", scenario, "--out", tmp_path / "out", "--style", "paper")
    assert done.returncode == 0, done.stderr
    assert written(tmp_path / "out") == {".pdf"}
    assert fonts((tmp_path / "out/plots/overview.pdf").read_bytes()) == {b"Type0", b"CIDFontType2"}
    done = cli("run", scenario, "--out", tmp_path / "both", "--plot", "--format", "png", "--format", "svg")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "both/plots").iterdir()}
    assert {"rates.png", "rates.svg"} <= names


def test_a_style_without_a_folder_is_refused(cli: Run, scenario: Path) -> None:
    done = cli("run", scenario, "--style", "paper")
    assert done.returncode == 2
    assert "--out" in done.stderr


def test_the_topology_is_drawn_in_the_style_asked_for(cli: Run, scenario: Path, tmp_path: Path) -> None:
    done = cli("run", scenario, "--draw", "--out", tmp_path / "out", "--style", "paper")
    assert done.returncode == 0, done.stderr
    assert written(tmp_path / "out") == {".pdf"}


# The vocabulary.


def test_every_controller_has_a_look_of_its_own() -> None:
    known = {one["kind"] for one in paceline.registry()["controllers"]}
    assert set(LOOKS) <= known, "a new controller may do without: it gets a free colour"
    assert len(set(LOOKS.values())) == len(LOOKS)
    assert len({(one.colour, one.dashes) for one in LOOKS.values()}) == len(LOOKS)
    assert len({colour for colour, _ in FAMILIES.values()}) == len(FAMILIES)
    often = [LOOKS[one].dashes for one in ("scream", "gcc", "cubic", "bbr")]
    assert len(set(often)) == 4, "they are told apart in grey, too"
    assert len(LIGHT) == len(PRINT) == len(DARK)


def test_a_controller_keeps_its_look_and_its_doubles_get_another() -> None:
    found = looks({"ours": "scream", "old": "scream", "mine": "no-such-kind", "gcc": "gcc"})
    assert (found["ours"], found["gcc"]) == (LOOKS["scream"], LOOKS["gcc"])
    assert len({one.colour for one in found.values()}) == 4
    many = looks({f"flow {number}": "scream" for number in range(20)})
    assert len({(one.colour, one.dashes) for one in many.values()}) == 20


def test_a_flow_is_drawn_as_its_controller(pair: paceline.Result) -> None:
    for name, place in (("overview", 0), ("throughput", 0), ("one_way_delay", 0), ("overview", 1)):
        lines = {line.get_label(): line.get_color() for line in pair.plot(name).axes[place].lines}
        colours = {
            who: next(colour for said, colour in lines.items() if who in str(said)) for who in ("video", "other")
        }
        assert colours == {"video": LOOKS["scream"].colour, "other": LOOKS["gcc"].colour}


def test_several_flows_have_a_curve_of_delay_each(pair: paceline.Result) -> None:
    table = PLOTS["overview"].table(pair)
    assert table is not None
    lines = {line.get_label(): line for line in pair.plot().axes[1].lines}
    assert set(lines) == {"video", "other"}
    for who, line in lines.items():
        own = table[table["who"] == who]
        both = own["queue delay"].fillna(0.0) + own["send-queue delay"].fillna(0.0)
        assert list(line.get_ydata()) == pytest.approx(both.tolist())


# Pictures of data of one's own.


@pytest.fixture(scope="module")
def own(call: paceline.Result, pair: paceline.Result) -> pd.DataFrame:
    """Two runs in one frame."""
    other = pair.flows[pair.flows["flow"] == "other"]
    frames = (call.flows.assign(flow="ours", controller="scream"), other.assign(flow="theirs", controller="gcc"))
    return pd.concat(frames, ignore_index=True)


OF_FLOWS = ("rates", "encoded_frames", "window", "delays", "one_way_delay", "frame_delay")


@pytest.mark.parametrize("name", OF_FLOWS)
def test_a_frame_is_drawn_as_a_run_is(name: str, call: paceline.Result) -> None:
    function = getattr(pictures, name)
    columns = re.findall(r"`(\w+)`", function.__doc__.partition("title:")[0])
    frame = call.flows[columns].assign(controller="scream")
    of_frame, of_run = function(frame).axes[0].lines, call.plot(name).axes[0].lines
    assert [list(line.get_ydata()) for line in of_frame] == [list(line.get_ydata()) for line in of_run]
    assert [line.get_color() for line in of_frame] == [line.get_color() for line in of_run]
    with pytest.raises(paceline.UsageError, match=f"flows: found columns .*expected .*{columns[-1]}"):
        function(frame.drop(columns=columns[-1]))


def test_frames_of_several_runs_keep_the_colours_of_their_controllers(own: pd.DataFrame, call: paceline.Result) -> None:
    for figure in (pictures.one_way_delay(own), pictures.cdf(own), pictures.overview(own, call.links)):
        colours = {str(line.get_label()).partition(":")[0]: line.get_color() for line in figure.axes[0].lines}
        assert (colours["ours"], colours["theirs"]) == (LOOKS["scream"].colour, LOOKS["gcc"].colour)
    titles = [pictures.rates(own, title=title).get_suptitle() for title in ("mine", "")]
    assert titles == ["Target bitrate and send rate: mine", "Target bitrate and send rate"]
    assert pictures.link_trace(call.links).axes[0].lines
    assert pictures.throughput(own, call.links, style="paper").get_figwidth() == 3.5


def test_a_distribution_is_that_of_the_samples() -> None:
    rows = pd.DataFrame({"flow": ["a"] * 4 + ["b"], "ms": [1.0, 2.0, 3.0, 4.0, 5.0]})
    curve = pictures.cdf(rows, "ms").axes[0].lines[0]
    assert list(curve.get_xdata()) == [1.0, 2.0, 3.0, 4.0]
    assert list(curve.get_ydata()) == [0.25, 0.5, 0.75, 1.0]


def runs(count: int, delay: float = 50.0) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    rates, delays = rng.normal(8, 0.3, count), rng.normal(delay, delay / 10, count)
    return pd.DataFrame({"controller": "gcc", "throughput_mbps": rates, "one_way_delay_p95_ms": delays})


def test_an_ellipse_and_an_interval_need_five_runs() -> None:
    for count, patches in ((1, 0), (4, 0), (5, 1)):
        axes = pictures.rate_against_delay(runs(count)).axes[0]
        assert (len(axes.patches), len(axes.containers)) == (patches, patches)


def test_the_cross_is_the_interval_of_the_means() -> None:
    rows = runs(10)
    axes = pictures.rate_against_delay(rows).axes[0]
    across, up = (collection.get_segments()[0] for collection in axes.collections)
    for ends, column in ((across[:, 0], "one_way_delay_p95_ms"), (up[:, 1], "throughput_mbps")):
        values = rows[column]
        half = 2.262157 * values.std() / 10**0.5
        assert list(ends) == pytest.approx([values.mean() - half, values.mean() + half])


@pytest.mark.parametrize(("delay", "scale"), [(100.0, "linear"), (9000.0, "log")])
def test_delays_over_decades_have_a_logarithmic_axis(delay: float, scale: str) -> None:
    both = pd.concat([runs(5), runs(5, delay).assign(controller="bbr")])
    assert pictures.rate_against_delay(both).axes[0].get_xscale() == scale
    assert pictures.cdf(both, "one_way_delay_p95_ms", by="controller").axes[0].get_xscale() == scale


def test_a_strip_has_a_stroke_for_each_frame() -> None:
    rows = pd.DataFrame({"time_s": [0.0, 0.1, 0.2, 0.3], "flow": "f", "outcome": ["shown", "shown", "late", "lost"]})
    figure = pictures.frames(rows, style="paper")
    assert [len(one.get_segments()) for one in figure.axes[0].collections] == [2, 1, 1]
    assert overlaps(figure) == []
    with pytest.raises(paceline.UsageError, match="found outcome 'gone'"):
        pictures.frames(rows.assign(outcome="gone"))


def test_the_topology_is_a_picture_of_a_run_and_of_a_scenario(call: paceline.Result) -> None:
    for figure in (call.plot("topology", style="paper"), pictures.topology(CALL, style="paper")):
        said = {text.get_text().split("\n")[0] for text in figure.axes[0].texts}
        assert "senders" in said
        assert figure.get_figwidth() == 3.5


def test_what_is_no_frame_is_refused() -> None:
    wrong: list[Any] = [None, [], {"time_s": [0.0]}, pd.DataFrame()]
    for given in wrong:
        with pytest.raises(paceline.UsageError, match="expected a data frame with the column"):
            pictures.rates(given)
    with pytest.raises(paceline.UsageError, match="nothing to show"):
        pictures.one_way_delay(pd.DataFrame({"time_s": [], "flow": [], "one_way_delay_ms": []}))


def test_a_crowd_of_flows_leaves_room_for_the_picture(call: paceline.Result) -> None:
    crowd = pd.concat([call.flows.assign(flow=f"flow {number}", controller="cubic") for number in range(40)])
    for style in ("screen", "paper"):
        figure = pictures.one_way_delay(crowd, style=style)
        assert overlaps(figure) == []
        legend = figure.axes[0].get_legend()
        assert legend is not None
        assert [text.get_text() for text in legend.get_texts()][-1] == "and 29 more"
        assert figure.axes[0].get_position().height > 0.25


# Studies.


@pytest.mark.parametrize(
    ("metric", "how", "axis"),
    [
        ("rate", {"path": "flows.*.throughput_mbps"}, "rate, Mbit/s"),
        ("wait", {"path": "flows.video.queue_delay_ms.p95"}, "wait, ms"),
        ("queue_delay_ms", {"path": "", "scale": 2.0}, "queue_delay_ms, ms"),
        ("kilobits", {"path": "flows.*.throughput_mbps", "scale": 1000.0}, "kilobits"),
        ("part", {"path": "flows.*.loss_ratio"}, "part"),
    ],
)
def test_an_axis_of_a_study_has_the_unit_of_its_metric(metric: str, how: dict[str, Any], axis: str) -> None:
    study: Any = SimpleNamespace(metrics={metric: SimpleNamespace(**how)})
    assert axis_of(study, metric) == axis
