"""Studies that come from a stranger: what their SQL, names and files may do, which is to be judged and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest

import paceline
from conftest import CALL, Run
from paceline.errors import StudyError
from paceline.studies import queries
from paceline.studies.definition import load
from paceline.studies.queries import Queries, QueryError
from paceline.studies.rows import Rows
from paceline.studies.words import Cells

STUDY = """\
name = "strange"
title = "A study from a stranger"
scenario = "call.toml"
published = "published.csv"

[factors.delay]
path = "links.bottleneck.delay"
unit = "ms"
levels = [10, 40]

[designs.one]
kind = "factorial"

[metrics.rate]
kind = "summary"
path = "flows.video.throughput_mbps"

[rules.near]
help = "near"
holds = 0.1
direction = 0.5

[macros]
"spread(m)" = "max(m) - min(m)"
"""
HEAD = "id,experiment,where,kind,statement,published,unit,metric,rule,note\n"


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """The folder of a study of two runs of a second, with one figure."""
    folder = tmp_path / "strange"
    folder.mkdir()
    (folder / "call.toml").write_text(CALL.replace('"10s"', '"1s"').replace('["5s", "4Mbps"]', '["0.5s", "4Mbps"]'))
    (folder / "study.toml").write_text(STUDY)
    judged(folder, "one", "count(*)")
    return folder


def judged(folder: Path, experiment: str, metric: str) -> Path:
    """The study with this figure alone."""
    quoted = ['"' + text.replace('"', '""') + '"' for text in (experiment, metric)]
    (folder / "published.csv").write_text(f"{HEAD}f1,{quoted[0]},here,number,a figure,2,,{quoted[1]},near,\n")
    return folder


def defined(folder: Path, name: str, body: str) -> Path:
    """The study with this function alone."""
    text, strings = STUDY[: STUDY.index('"spread(m)"')], [_basic(part) for part in (name, body)]
    (folder / "study.toml").write_text(f"{text}{strings[0]} = {strings[1]}\n")
    return folder


def _basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of the study, whose figures are asked one after the other."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "call.toml").write_text(CALL)
    (folder / "study.toml").write_text(STUDY)
    judged(folder, "one", "count(*)")
    frame = pd.DataFrame({"experiment": ["a", "b"], "design": "one", "number": [1, 2], "seed": 1})
    frame = frame.assign(varied=None, level=None, error=None)
    frame["factor.delay"], frame["metric.rate"] = [10.0, 40.0], [3.0, 5.0]
    frame.to_parquet(folder / "results.parquet")
    return Rows(load(folder)).fill(folder / "results.parquet")


# ---- What SQL of a stranger may do.

# Texts in dollars: names in quotes are looked up among those of the study before.
WRITES = "COPY (SELECT $$anything$$) TO $$written.csv$$ (HEADER false)"


@pytest.mark.parametrize(
    ("name", "body", "said"),
    [
        ("f(a)", f"a); {WRITES}; CREATE MACRO g() AS (1", "found more than an expression, expected one alone"),
        (f"f(a) AS (1); {WRITES}; CREATE MACRO g()", "1", "expected a name and parameters"),
        ("f(a", "1", "expected a name and parameters"),
        ('"f"(a)', "1", "expected a name and parameters"),
        ("main.f(a)", "1", "expected a name and parameters"),
        ("f(a := 1)", "a", "expected a name and parameters"),
        ("f(a)", "1), (b) AS (2", "Parser Error"),
        ("f(a)", "1) FROM rows WHERE (true", "found more than an expression"),
        ("f(a)", "(SELECT content FROM read_text('/etc/hostname'))", "file system operations are disabled"),
        ("avg(a)", "7", "found the name of a function of DuckDB's own, 'avg'"),
        ("f(a)", "f(a)", "Function with name f does not exist"),
    ],
)
def test_a_function_is_a_name_and_an_expression(strange: Path, cli: Run, name: str, body: str, said: str) -> None:
    done = cli("study", defined(strange, name, body), "--dry-run")
    assert done.returncode == 2, done.stderr
    assert f"macros.{name}: " in done.stderr
    assert said in done.stderr
    assert not list(strange.parent.rglob("written.csv"))
    assert "nothing was written" not in done.stdout


READS = (
    "(SELECT content FROM read_text($$/etc/hostname$$))",
    "(SELECT count(*) FROM read_csv($$/etc/hostname$$))",
    "(SELECT count(*) FROM read_blob($$/etc/hostname$$))",
    "(SELECT count(*) FROM read_parquet($$/etc/../etc/hostname$$))",
    "(SELECT count(*) FROM glob($$/etc/*$$))",
    "(SELECT count(*) FROM $$/etc/hostname$$)",
    "(SELECT count(*) FROM query($a$SELECT * FROM read_text($$/etc/hostname$$)$a$))",
    "(SELECT count(*) FROM sys)",
    "(SELECT count(*) FROM answers)",
    "(SELECT count(*) FROM enable_logging(storage=$$file$$, storage_path=$$log$$))",
    "getenv($$HOME$$)",
)
CHANGES = (
    f"1 FROM selected; {WRITES}; SELECT 1",
    f"1; {WRITES}",
    "1; UPDATE rows SET rate = 9",
    "1; ATTACH $$written.db$$",
    "1; INSTALL httpfs",
    "1; LOAD $$/tmp/x.duckdb_extension$$",
    "1; SET enable_external_access = true",
    "1; PRAGMA database_list",
    "1; CREATE MACRO spread(m) AS 0",
    "1 FROM rows",
    "DISTINCT 1",
    "1, 2",
    "$$x$$; DROP TABLE rows",
    "1 /*",
)


@pytest.mark.parametrize("metric", [*READS, *CHANGES])
def test_a_figure_is_one_expression_that_reads_rows_alone(strange: Path, cli: Run, metric: str) -> None:
    done = cli("study", judged(strange, "one", metric), "--out", "out")
    assert done.returncode == 2, done.stdout
    assert f"published.csv: f1: found {metric!r}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list((strange.parent / "cwd").iterdir()), "nothing was run, and nothing written"


@pytest.mark.parametrize(
    "condition",
    [
        *(f"rate > {one}" for one in READS),
        *(f"true AND {one}" for one in CHANGES if one != "1, 2"),
        "true) UNION ALL SELECT * FROM rows WHERE (true",
        "true ORDER BY random()",
        "true LIMIT 1",
        "$$one$$ = design; DROP TABLE rows",
    ],
)
def test_a_condition_is_one_expression_that_reads_rows_alone(filled: Rows, condition: str) -> None:
    with pytest.raises(StudyError, match="f1: found"):
        filled.expect("f1", condition)
    for ask in (lambda: filled.figure(condition, "count(*)"), lambda: filled.frame(condition)):
        with pytest.raises(StudyError):
            ask()
    assert filled.figure("one", "count(*)") == 2


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("tables.t.of", '[tables.t]\nof = "true; DROP TABLE rows"\nrows = "delay"\nmetrics = { rate = "rate" }'),
        (
            "pictures.p.panels.1.where",
            '[pictures.p]\nkind = "runs"\npanels = [{ design = "one", where = "true) OR (true; DROP TABLE rows", '
            'column = "throughput_mbps" }]',
        ),
    ],
)
def test_tables_and_pictures_take_one_expression(strange: Path, key: str, line: str) -> None:
    text = STUDY.replace('kind = "factorial"', 'kind = "factorial"\nkeep = true')
    (strange / "study.toml").write_text(f"{text}\n{line}\n")
    with pytest.raises(StudyError, match=f"{key}: found"):
        load(strange)


def test_a_figure_changes_no_later_one(filled: Rows) -> None:
    before = filled.figure("one", "avg(rate)")
    for metric in ("setseed(0.5)", "count(*)", "spread(rate)"):
        filled.figure("delay = 10", metric)
    with pytest.raises(StudyError):
        filled.figure("one", "1; UPDATE rows SET rate = 9; SELECT 1")
    assert filled.figure("one", "avg(rate)") == before == 4.0


def test_what_is_opened_late_is_not_opened(filled: Rows) -> None:
    with pytest.raises(StudyError, match="file system operations are disabled"):
        filled.figure("one", "(SELECT count(*) FROM sniff_csv($$/etc/hostname$$))")


@pytest.mark.parametrize("metric", ["'text'", "today()", "[1, 2]", "design"])
def test_a_figure_that_is_no_number_is_said(filled: Rows, metric: str) -> None:
    with pytest.raises(StudyError, match="expected a number"):
        filled.figure("one", metric)


def test_a_query_returns_no_more_rows_than_there_are(filled: Rows) -> None:
    assert filled.figure("one", "(SELECT count(*) FROM range(1000000))") == 1e6
    with pytest.raises(StudyError):
        filled.figure("one", "unnest(range(1000000)), 1")
    assert len(filled.frame("true OR delay IN (SELECT i FROM range(1000000) t(i))")) == 2


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("(SELECT count(*) FROM range(1000000000000))", "takes longer than 2 s, expected less"),
        # One call that nothing interrupts.
        ("levenshtein(repeat($$a$$, 400000), repeat($$b$$, 400000) || design)", "takes longer than 2 s, expected less"),
    ],
)
def test_a_figure_that_does_not_end_is_ended_and_named(
    strange: Path, cli: Run, monkeypatch: pytest.MonkeyPatch, metric: str, said: str
) -> None:
    assert cli("study", strange, "--out", "out").returncode == 0
    monkeypatch.setattr(queries, "LONGEST_S", 2.0)
    begun = time.monotonic()
    done = cli("study", judged(strange, "one", metric), "--out", "out")
    assert done.returncode == 2, done.stdout
    assert f"published.csv: f1: one: {metric}: {said}" in done.stderr or (
        f"published.csv: f1: found {metric!r}: {said}" in done.stderr
    )
    assert time.monotonic() - begun < 60
    monkeypatch.undo()
    assert cli("study", judged(strange, "one", "count(*)"), "--out", "out").returncode == 0, "the next one is computed"


def test_figures_together_have_a_limit(strange: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "TOGETHER_S", 0.0)
    with pytest.raises(StudyError, match=r"macros\.spread\(m\): the figures before it took"):
        load(strange)


@pytest.mark.parametrize(
    "metric",
    [
        "length(repeat('x', 3000000000) || design)",
        "len(range(300000000 + number))",
        "(SELECT len(list(i)) FROM range(300000000) t(i))",
        "(SELECT length(string_agg('xxxxxxxxxxxxxxxxxxxxxxxxxxx', '')) FROM range(300000000))",
        "(" * 3000 + "1" + ")" * 3000,
    ],
)
def test_a_figure_has_so_much_memory_and_depth(filled: Rows, metric: str) -> None:
    with pytest.raises(StudyError, match=r"Out of Memory|depth|ended over it"):
        filled.figure("one", metric)
    filled.__dict__.pop("_queries")
    filled.fill(filled.folder / "results.parquet")
    assert filled.figure("one", "count(*)") == 2


def test_functions_of_functions_end_as_well(strange: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call doubles its argument: 40 of them are a million million terms."""
    monkeypatch.setattr(queries, "LONGEST_S", 2.0)
    defined(strange, "d(a)", "a + a")
    with pytest.raises(StudyError, match="f1: found 'd"):
        load(judged(strange, "one", "d(" * 40 + "rate" + ")" * 40))


def test_the_process_of_figures_opens_and_writes_no_file() -> None:
    asked = Queries({"a": "DOUBLE"})
    process = asked._process._process
    limits = Path(f"/proc/{process.pid}/limits").read_text()
    found = {line[:25].strip(): line[26:].split()[0] for line in limits.splitlines()[1:]}
    assert (found["Max open files"], found["Max file size"], found["Max core file size"]) == ("0", "0", "0")
    assert found["Max data size"] != "unlimited"
    asked._process.end()
    with pytest.raises(QueryError, match="has ended"):
        asked.ask("check", condition="true", metric=None)


def test_the_process_of_figures_ends_with_its_parent(strange: Path) -> None:
    rows = Rows(load(strange))
    rows.check()
    process = rows._queries._process
    process._channel.close()
    assert process._process.wait(timeout=60) == 0
    process.answers = False


def test_results_that_were_cut_are_said(strange: Path, tmp_path: Path) -> None:
    result = paceline.study(strange, out=tmp_path / "out")
    result.results_file.write_bytes(result.results_file.read_bytes()[:-100])
    with pytest.raises(StudyError, match=r"results\.parquet: found a damaged file"):
        Rows(result.study).fill(result.results_file)


# ---- What is written for people.


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", r"a \| b"),
        ("<img src=x onerror=alert(1)>", r"&lt;img src=x onerror=alert(1)\>"),
        ("<!-- end of verdict -->", r"&lt;!-- end of verdict --\>"),
        ("[here](javascript:alert(1))", r"\[here\](javascript:alert(1))"),
        ("two\nlines\r\n\x1b[2J\u2028", "two lines \\[2J "),
        ("`code` *strong* ~~gone~~ $x$ \\", r"\`code\` \*strong\* \~\~gone\~\~ \$x\$ \\"),
        ("_x_ qdelay_target_lo &lt; R&D & 5 < 6", r"\_x\_ qdelay_target_lo &amp;lt; R&amp;D & 5 &lt; 6"),
        ("20 ms", "20 ms"),
    ],
)
def test_markdown_shows_a_text_as_it_is(text: str, shown: str) -> None:
    table = Cells(["a", text], [[text, "b"]])
    assert str(table).splitlines() == [f"| a | {shown} |", "|---|---|", f"| {shown} | b |"]


def test_hostile_names_stay_in_their_cells(strange: Path, cli: Run) -> None:
    bad = "a | b</td><script>alert(1)</script> <!-- end of verdict -->"
    text = STUDY.replace('title = "A study', f'paper = "{bad}"\ntitle = "{bad}')
    text += f'[tables.t]\nof = "one"\nrows = "delay"\nmetrics = {{ rate = "{bad}" }}\n'
    (strange / "study.toml").write_text(text)
    (strange / "published.csv").write_text(f'{HEAD}f1,one,"{bad}",claim,"{bad}",2,"{bad}",count(*),near,"{bad}"\n')
    (strange / "README.md").write_text("<!-- verdict: here -->\n<!-- end of verdict -->\nThe end.\n")
    for _ in range(2):
        assert cli("study", strange, "--out", "out", "--write-verdict").returncode == 0
    out = strange.parent / "cwd" / "out"
    assert "<script>alert" not in (out / "report.html").read_text()
    assert (out / "report.html").read_text().count('<th class="n">a | b&lt;/td&gt;') == 1
    readme = (strange / "README.md").read_text()
    for table in (readme, (out / "tables" / "t.md").read_text(), (out / "verdict.md").read_text()):
        assert "<script" not in table
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1
    assert readme.endswith("<!-- end of verdict -->\nThe end.\n")
    assert readme.count("Of 1 published figures") == 1
