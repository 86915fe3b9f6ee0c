"""Studies that come from a stranger: what their SQL, names and files may do, which is to be judged and nothing else."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import paceline
from conftest import CALL, Run
from paceline.errors import OutputError, StudyError
from paceline.outputs import OutputFolder
from paceline.studies import queries
from paceline.studies.definition import load
from paceline.studies.markdown import Cells
from paceline.studies.queries import Queries, QueryError
from paceline.studies.rows import Rows

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


# ---- SQL of a stranger.

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


# ---- Texts for people.


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


# ---- Names and files of a stranger.


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "a/b", "a\\u0000b", "..", ".", "", "a b", "x" * 101])
@pytest.mark.parametrize(
    ("table", "body"),
    [
        ("designs", 'kind = "factorial"'),
        ("experiments", 'title = "One"'),
        ("pictures", 'kind = "against"\ndesign = "one"\nmetric = "rate"\nagainst = "rate"'),
        ("tables", 'of = "one"\nrows = "delay"\nmetrics = { rate = "rate" }'),
        ("factors", 'path = "seed"\nlevels = [1]'),
        ("metrics", 'kind = "summary"\npath = "duration_s"'),
        ("rules", 'help = "x"\nholds = 0.1\ndirection = 0.2'),
        ("recorded", 'file = "runs.csv"'),
    ],
)
def test_a_name_is_one_that_files_can_have(strange: Path, table: str, body: str, name: str) -> None:
    (strange / "study.toml").write_text(f'{STUDY}\n[{table}."{name}"]\n{body}\n')
    with pytest.raises(StudyError, match=rf"study\.toml: {table}\..*found a name that no file can have, expected"):
        paceline.study(strange, out=strange / "out")
    assert {path.name for path in strange.iterdir()} == {"call.toml", "study.toml", "published.csv"}


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "plots/../../escaped", "a\0b", "linked/file", ""])
def test_a_folder_of_results_takes_no_file_elsewhere(tmp_path: Path, name: str) -> None:
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir()
    (out / "linked").symlink_to(elsewhere)
    with pytest.raises(OutputError, match=r"leads out of its folder|found a link"), OutputFolder(out) as folder:
        folder.stage(name, "x")
    assert list(elsewhere.iterdir()) == []
    assert [path.name for path in out.iterdir()] == ["linked"]


@pytest.mark.parametrize("link", [".study", ".study/lock", ".study/rows-000000.journal", "experiments"])
@pytest.mark.parametrize("fresh", [False, True])
def test_a_link_in_place_of_the_store_is_not_followed(strange: Path, cli: Run, link: str, fresh: bool) -> None:
    out, elsewhere = strange.parent / "out", strange.parent / "elsewhere"
    (elsewhere / "one").mkdir(parents=True)
    for theirs in ("rows-000000.journal", "study.json", "one/mine.txt", "file"):
        (elsewhere / theirs).write_text("theirs")
    (strange / "study.toml").write_text(STUDY.replace('kind = "factorial"', 'kind = "factorial"\nkeep = true'))
    (out / link).parent.mkdir(parents=True)
    (out / link).symlink_to(elsewhere if link in (".study", "experiments") else elsewhere / "file")
    done = cli("study", strange, "--out", out, *(["--fresh"] if fresh else []))
    assert "Traceback" not in done.stderr
    assert {path.read_text() for path in elsewhere.rglob("*") if path.is_file()} == {"theirs"}
    assert len(list(elsewhere.rglob("*"))) == 5
    # A file in place of rows is deleted, if that is asked for: the link, and nothing behind it.
    deleted = fresh and link in (".study/rows-000000.journal", "experiments")
    assert (done.returncode == 0) == deleted, done.stderr
    assert deleted or "found a link, expected a f" in done.stderr or "no study.json that says whose" in done.stderr


def test_what_was_half_written_is_not_written_through(strange: Path, cli: Run) -> None:
    out, theirs = strange.parent / "out", strange.parent / "theirs"
    theirs.write_text("theirs")
    (out / ".study").mkdir(parents=True)
    for half in (".results.parquet.part", ".study/.study.json.part", ".study/.joined.json.part"):
        (out / half).symlink_to(theirs)
    assert cli("study", strange, "--out", out).returncode == 0
    assert theirs.read_text() == "theirs"


@pytest.mark.parametrize(
    ("key", "line", "was"),
    [
        ("scenario", 'scenario = "{}"', 'scenario = "call.toml"'),
        ("published", 'published = "{}"', 'published = "published.csv"'),
        ("scenario", 'kind = "factorial"\nscenario = "{}"', 'kind = "factorial"'),
        ("recorded.other.file", '[recorded.other]\nfile = "{}"\n[macros]', "[macros]"),
    ],
)
@pytest.mark.parametrize("how", ["absolute", "upwards", "link", "link to a folder"])
def test_a_file_of_a_study_is_its_own(strange: Path, key: str, line: str, was: str, how: str) -> None:
    private = strange.parent / "private"
    private.mkdir()
    (private / "file").write_text("secret = 1\n")
    (strange / "linked").symlink_to(private)
    (strange / "own").symlink_to(private / "file")
    file = {"absolute": str(private / "file"), "upwards": "../private/file", "link": "own"}.get(how, "linked/file")
    (strange / "study.toml").write_text(STUDY.replace(was, line.format(file)))
    with pytest.raises(StudyError, match=rf"{key}: found '{file}', which is {private / 'file'}, expected a file in"):
        load(strange)


def test_a_study_shares_files_with_one_beside_it(strange: Path) -> None:
    other = strange.parent / "other"
    other.mkdir()
    (other / "study.toml").write_text(STUDY.replace('"call.toml"', '"../strange/call.toml"'))
    (other / "published.csv").write_text((strange / "published.csv").read_text())
    assert "../strange/call.toml" in load(other).scenarios


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ('kind = "grid"\ncount = 100000000', "designs.big.count: found 100000000, expected a whole number <= 1000000"),
        ('kind = "grid"\ncount = 100000', "designs.big: found a grid of 100000 values of 2 factors"),
        ('kind = "latin-hypercube"\ncount = 100000000', "designs.big.count: found 100000000 points of 2 factors"),
        ('kind = "sobol"\ncount = 100000001', "designs.big.count: found 100000001, expected a whole number <= "),
    ],
)
def test_a_design_too_large_is_said_before_it_is_made(strange: Path, design: str, said: str) -> None:
    factors = '[factors.mss]\npath = "flows.video.controller.mss"\nunit = "B"\nrange = [900, 1400]\ninteger = true\n'
    factors += '[factors.rate]\npath = "links.bottleneck.rate"\nunit = "Mbps"\nrange = [1, 9]\n'
    text = STUDY.replace('"factorial"', '"factorial"\nfactors = ["delay"]')
    text = f'{text}\n{factors}\n[designs.big]\n{design}\nfactors = ["mss", "rate"]\n'
    (strange / "study.toml").write_text(text)
    begun = time.process_time()
    with pytest.raises(StudyError) as found:
        load(strange)
    assert said in str(found.value)
    assert time.process_time() - begun < 5


def test_the_ends_of_a_grid_are_tried_and_not_each_value(strange: Path) -> None:
    factors = '[factors.speed]\npath = "links.bottleneck.rate"\nunit = "Mbps"\nrange = [1, 9]\n'
    text = STUDY.replace('"factorial"', '"factorial"\nfactors = ["delay"]')
    text = f'{text}\n{factors}\n[designs.big]\nkind = "grid"\ncount = 100000\nfactors = ["speed"]\n'
    (strange / "study.toml").write_text(text)
    tried = [said for _, said in load(strange).probes() if "speed = " in said]
    assert tried == ["designs.big: speed = 1.0Mbps", "designs.big: speed = 9.0Mbps"]


# ---- Rests of an earlier run.


def keeping(strange: Path) -> Path:
    """The study with runs that it keeps."""
    (strange / "study.toml").write_text(STUDY.replace('kind = "factorial"', 'kind = "factorial"\nkeep = true'))
    return strange


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("file", "how", "said"),
    [
        ("experiments/one/1/flows.parquet", lambda path: path.write_bytes(b""), "found an empty file"),
        ("experiments/one/2/links.parquet", _flip, "found other bytes than were written"),
        ("experiments/one/2/summary.json", Path.unlink, "No such file or directory"),
        ("experiments/one/1/scenario.toml", lambda path: (path.unlink(), path.mkdir()), "found something else than"),
        (".study/rows-000000.journal", lambda path: path.write_bytes(b""), "2 finished experiments are not in"),
        (".study/rows-000000.journal", Path.unlink, "2 finished experiments are not in the journals any more"),
        ("results.parquet", _flip, "found other bytes than were written"),
        ("results.parquet", Path.unlink, "No such file or directory"),
    ],
)
def test_what_is_not_as_it_was_written_is_made_again_and_said(
    strange: Path, cli: Run, file: str, how: Callable[[Path], object], said: str
) -> None:
    out = strange.parent / "cwd" / "out"
    assert "made again" not in cli("study", keeping(strange), "--out", "out").stderr
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file() and ".study" not in path.parts}
    assert cli("study", strange, "--out", "out").stderr.count("made again") == 0
    how(out / file)
    again = cli("study", strange, "--out", "out")
    if (out / file).is_dir():
        assert again.returncode == 1, "a folder is not ours to delete"
        assert f"{out / file}".removeprefix(f"{strange.parent}/cwd/") in again.stderr
        return
    assert again.returncode == 0, again.stderr
    assert said in again.stderr
    assert "made again" in again.stderr
    after = {path: path.read_bytes() for path in before}
    for path in [one for one in before if one.name == "summary.json"]:
        before[path], after[path] = (re.sub(rb"\"wall_s\".*", b"", one[path]) for one in (before, after))
    assert after == before
    assert cli("study", strange, "--out", "out").stderr.count("made again") == 0, "said once"


def test_what_a_comparison_kept_is_made_again_and_said(call_file: Path, cli: Run, tmp_path: Path) -> None:
    command = ("compare", "urcp", "um", "--over", call_file, "--seeds", "1", "--duration", "1s", "--out", "out")
    assert cli(*command).returncode == 0
    [kept] = (tmp_path / "cwd" / "out" / "experiments").glob("um@*/1/flows.parquet")
    _flip(kept)
    done = cli(*command)
    assert done.returncode == 0
    assert "flows.parquet: found other bytes than were written; made again" in done.stderr
