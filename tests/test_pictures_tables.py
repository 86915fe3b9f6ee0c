"""Tables for papers (LaTeX), and reports that have a list of contents."""

import re
from pathlib import Path

import pytest
from rich.table import Table

import paceline
from conftest import CALL, Run
from paceline.cli.latex import escaped, latex
from paceline.cli.tables import summary_tables, table_of
from paceline.studies.report import with_contents

HOSTILE = r"a_b & 50% $x$ #1 {y} ~^\end{tabular}"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "call.toml"
    path.write_text(CALL)
    return path


def rows(text: str) -> list[list[str]]:
    """The cells of all rows between the rules."""
    lines = [line for line in text.splitlines() if line.endswith(r"\\")]
    return [line.removesuffix(r" \\").split(" & ") for line in lines]


def test_no_letter_of_a_name_is_a_command() -> None:
    said = escaped(HOSTILE)
    assert said == r"a\_b \& 50\% \$x\$ \#1 \{y\} \textasciitilde{}\textasciicircum{}\textbackslash{}end\{tabular\}"
    assert escaped("-1.5 to -0.5, well-known") == "$-$1.5 to $-$0.5, well-known"
    assert escaped("±0 \x1b[31m") == "$\\pm$0 " + escaped("\x1b[31m")
    assert "\x1b" not in escaped("\x1b[31m")


def test_a_cell_of_several_lines_takes_as_many_rows() -> None:
    table = table_of(f"title {HOSTILE}\nnext", ("", HOSTILE, "unit"))
    table.add_row("one", "1\n-2", "ms")
    table.add_row("[two]", "", "")
    text = latex([table])
    assert rows(text) == [
        ["", escaped(HOSTILE), "unit"], ["one", "1", "ms"], ["", "$-$2", ""], ["{}[two]", "", ""],
    ]  # fmt: skip
    assert text.count(r"\begin{tabular}{lrl}") == 1
    comments = [line for line in text.splitlines() if line.startswith("%")]
    assert len(comments) == 2, "a title is a comment of one line"


def test_the_table_of_a_run_is_that_of_the_terminal(cli: Run, scenario: Path, call: paceline.Result) -> None:
    done = cli("run", scenario, "--latex")
    assert done.returncode == 0, done.stderr
    for rule in ("toprule", "midrule", "bottomrule"):
        assert done.stdout.count(f"\\{rule}") == 2
    shown = {row[0]: row[1:] for row in rows(done.stdout)}
    delay = call.summary["flows"]["video"]["queue_delay_ms"]
    assert shown["queue delay"][:1] == [f"{delay['mean']:.1f}"]
    assert shown["lost"][-1].strip() == r"\%"
    own: list[Table] = list(summary_tables(call))
    assert len(own) == 2


def test_names_of_a_scenario_are_escaped(cli: Run, tmp_path: Path) -> None:
    path = tmp_path / "call.toml"
    path.write_text(CALL.replace("flows.video", 'flows."a_b & 5%"').replace("bottleneck", "the_link"))
    done = cli("run", path, "--latex")
    assert done.returncode == 0, done.stderr
    assert r"the\_link" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("% flow a_b & 5%")]


def test_two_forms_at_once_are_refused_before_the_run(cli: Run, scenario: Path, tmp_path: Path) -> None:
    for command in (("run", scenario), ("compare", "scream", "gcc", "--over", scenario)):
        done = cli(*command, "--json", "--latex", "--out", tmp_path / "out")
        assert done.returncode == 2
        assert "--json and --latex" in done.stderr
        assert not (tmp_path / "out").exists()


def test_a_comparison_for_a_paper(cli: Run, scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chosen = ("scream", "my_own=gcc", "--over", scenario, "--seeds", "2", "--duration", "2s", "--out", out)
    done = cli("compare", *chosen, "--style", "paper", "--latex")
    assert done.returncode == 0, done.stderr
    assert {row[0] for row in rows(done.stdout)} >= {"scream", r"my\_own"}
    assert {path.suffix for path in (out / "plots").iterdir()} == {".pdf"}
    page = (out / "report.html").read_text()
    assert page.count("<svg") >= 2, "the report shows its pictures whatever the style of the files is"
    links = re.findall(r'<a href="#([\w-]+)">', page)
    assert len(links) >= 4
    assert all(page.count(f'id="{link}"') == 1 for link in links)
    assert "Rate and delay" in page


def test_a_page_of_one_part_has_no_contents() -> None:
    one = "<h1>a</h1><h2>b</h2>"
    assert with_contents(one) == one
    two = with_contents("<h1>a</h1><h2>b &lt;c&gt; <i>d</i></h2><p>x</p><h2>e</h2>")
    assert '<li><a href="#part-1">b &lt;c&gt; d</a></li>' in two
    assert two.index("<nav") < two.index('<h2 id="part-1">')
    assert '<h2 id="part-2">e</h2>' in two
