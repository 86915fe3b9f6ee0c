"""Pictures for papers: styles, files and fonts, as a researcher asks for them."""

import io
import pickle
import re
import warnings
import zlib
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import paceline
from conftest import CALL, Run
from paceline.plots import PLOTS, STYLES, drawn_as
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
    """What reaches out of the figure, and legends that cover what is drawn."""
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


DRAWN = ("overview", "rates", "throughput", "delays", "one_way_delay", "frame_delay", "window", "delay_quantiles")


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_made_as_narrow_as_a_column_stays_one(name: str, call: paceline.Result) -> None:
    figure = call.plot(name)
    figure.set_size_inches(3.5, 2.6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert overlaps(figure) == []
    assert not figure.get_suptitle(), "a title has no room in a column"
    assert all(re.search(r"\w+, (Mbit/s|ms|kB)$", axes.get_ylabel()) for axes in figure.axes)
    figure.set_size_inches(8, 3.6)
    assert overlaps(figure) == []
    assert figure.get_suptitle(), "wide again, it has its title again"


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", DRAWN)
def test_every_style_keeps_legends_and_labels_in_the_picture(
    name: str, style: str, call: paceline.Result, pair: paceline.Result
) -> None:
    for result in (call, pair):
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
    assert set(LOOKS) == known
    assert len(set(LOOKS.values())) == len(LOOKS)
    assert len({(one.colour, one.dashes) for one in LOOKS.values()}) == len(LOOKS)
    assert len({colour for colour, _ in FAMILIES.values()}) == len(FAMILIES)
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
