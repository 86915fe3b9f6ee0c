"""Results that come from a stranger, or are deleted under a run, names of any length, and pages that mean no good."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paceline
from conftest import CALL, Run
from paceline import toml
from paceline.browser.seen import SOURCES, Looks, table
from paceline.browser.server import MOST_PAGES, MOST_ROWS, PageServer
from paceline.comparison import joined
from paceline.errors import OutputError, StudyError
from paceline.studies import store
from paceline.studies.engine import run_study
from paceline.studies.progress import State
from paceline.studies.report import expect_drawing
from processes import PATIENCE_S, until
from test_study_designs import little
from test_study_strangers import keeping, strange

__all__ = ["little", "strange"]

LONG = "x" * 300


# ---- Deleted under a run.


@pytest.mark.parametrize("what", ["out", "out/.study", "out/.study/rows-000000.journal"])
def test_results_that_are_deleted_while_they_are_made_are_said_at_once(
    little: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(store, "COMMIT_S", 0.0)
    seen: list[int] = []

    def progress(state: State) -> None:
        seen.append(state.finished)
        if state.finished == 3:
            path = tmp_path / what
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    with pytest.raises(
        OutputError, match=r"rows-000000\.journal: was deleted while the study ran: run the same command"
    ):
        run_study(little, out=tmp_path / "out", workers=1, progress=progress)
    assert max(seen) <= 4, "it does not go on for nothing"
    assert run_study(little, out=tmp_path / "out", workers=1, fresh=True).state.failed == 0


def _folder(path: Path) -> None:
    (path / "inside").mkdir(parents=True)


@pytest.mark.parametrize("make", [_folder, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize("file", ["lock", "rows-000000.journal", "study.json", "joined.json"])
def test_what_is_no_file_in_the_place_of_one_is_said(
    strange: Path, cli: Run, tmp_path: Path, file: str, make: Callable[[Path], None]
) -> None:
    kept = tmp_path / "out" / ".study"
    assert cli("study", strange, "--out", tmp_path / "out").returncode == 0
    (kept / file).unlink()
    make(kept / file)
    done = cli("study", strange, "--out", tmp_path / "out")
    assert "Traceback" not in done.stderr
    assert done.returncode in (1, 2), done.stdout
    assert str(kept / file) in done.stderr
    if file != "lock":
        assert cli("study", strange, "--out", tmp_path / "out", "--fresh").returncode == 0, "it is deleted if asked for"


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"tables": ' + "[" * 100_000, '{"tables": [1]}', '{"tables": {"rows": 1}}', "\0", '{"tables": 1}'],
)
def test_a_damaged_list_of_what_is_kept_is_said(strange: Path, cli: Run, tmp_path: Path, content: str) -> None:
    (tmp_path / "out" / ".study").mkdir(parents=True)
    (tmp_path / "out" / ".study" / "study.json").write_text(content)
    done = cli("study", strange, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "study.json: found a damaged file; it stays as it is: --fresh deletes it" in done.stderr


def test_records_of_a_stranger_cost_themselves_alone(strange: Path, tmp_path: Path) -> None:
    import zlib

    expected = run_study(strange, out=tmp_path / "out", workers=1).results_file.read_bytes()
    deep = b'[0,null,null,false,{},{},{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}]"
    records = (b"[70000000000]", b"[-1]", b"[5]", deep, b'[0,"x"]')
    with (tmp_path / "out" / ".study" / "rows-000000.journal").open("ab") as journal:
        for record in records:
            journal.write(b"\n%08x %s\n" % (zlib.crc32(record), record))
    assert run_study(strange, out=tmp_path / "out", workers=1).results_file.read_bytes() == expected


# ---- Names of any length.


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", LONG),
        ("run", f"{LONG}=1"),
        ("run", "{call}", "--out", LONG),
        ("run", "{call}", "--data", LONG),
        ("run", "{call}", "--pcap", LONG),
        ("run", "{call}", "--qlog", LONG),
        ("run", "{call}", "--draw", "--out", LONG),
        ("study", LONG),
        ("study", "{study}", "--out", LONG),
        ("study", "{study}", "--out", f"{LONG}/{LONG}"),
        ("study", "{study}", "--data", LONG),
        ("tune", LONG),
        ("sensitivity", LONG),
        ("compare", "urcp", "um", "--over", LONG),
        ("compare", "urcp", "um", "--over", "{call}", "--out", LONG),
        ("compare", "urcp", "um", "--over", f"{LONG}={{call}}", "--seeds", "1", "--duration", "1s"),
        ("compare", "urcp", "--join", LONG),
        ("merge", LONG, f"{LONG}y"),
        ("fit", LONG),
        ("probe", LONG),
        ("vectors", LONG),
        ("vectors", "{call}", "--out", LONG),
        ("exchange", LONG),
        ("list", LONG),
    ],
    ids=lambda arguments: " ".join(arguments)[:60],
)
def test_no_name_is_too_long_for_a_message(
    cli: Run, call_file: Path, strange: Path, arguments: tuple[str, ...]
) -> None:
    done = cli(*(one.format(call=call_file, study=strange) for one in arguments))
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    if not arguments[4:5] or "={call}" not in arguments[4]:
        assert done.returncode in (1, 2), done.stdout
        assert done.stderr.count("\n") <= 12


@pytest.mark.parametrize("name", ["a\0b", LONG])
def test_names_from_python_are_said_as_well(strange: Path, call_file: Path, name: str) -> None:
    for call in (
        lambda: paceline.run(name),
        lambda: paceline.run(call_file, out=name),
        lambda: paceline.run(call_file, data=name),
        lambda: paceline.study(name, out="out"),
        lambda: paceline.study(strange, out=name),
        lambda: paceline.compare(["urcp", "um"], over=str(call_file), out=name),
        lambda: paceline.compare(["urcp"], join=name, out=strange / "out"),
    ):
        with pytest.raises(paceline.PacelineError):
            call()


# ---- Definitions that nobody wrote by hand.


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("study.toml", "a = " + "[" * 100_000, "too deep to read"),
        ("study.toml", "a = " + "{ a = " * 10_000, "too deep to read"),
        ("call.toml", "a = " + "[" * 100_000, "too deep to read"),
        ("study.toml", "a." * 80 + "a = 1", "too deep to read"),
        ("study.toml", "a = 1\n[" + '"a" . ' * 80 + "a]", "too deep to read"),
        ("call.toml", "a = { " + "a." * 80 + "a = 1 }", "too deep to read"),
        ("published.csv", "id," + "x" * 1000, "found columns"),
        ("published.csv", "{head}f1,one,here,number,{long},2,,count(*),near,\n", "field larger than field limit"),
        ("published.csv", "{head}f1,one,here,number,x,2,,count(*),near,,more,and more\n", "found more cells than 10"),
        ("published.csv", "{head}f1,one\n", "expected a text"),
        ("published.csv", "{head}f1,one,here,number,x,2,,count(*),{long},\n", "rule"),
    ],
)
def test_a_definition_of_any_form_is_said(strange: Path, cli: Run, file: str, text: str, said: str) -> None:
    head = "id,experiment,where,kind,statement,published,unit,metric,rule,note\n"
    long = "x" * (200_000 if "limit" in said else 100_000)
    (strange / file).write_text(text.replace("{head}", head).replace("{long}", long))
    done = cli("study", strange)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert file in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    "text", ["a." * 79 + "a = 1", "# {}", 'a = "{}"', "a = '{}'", 'a = """\n\\"""{}"""', "a = '''\n{}'''"]
)
def test_dots_of_texts_and_comments_are_no_depth(text: str) -> None:
    toml.loads(text.replace("{}", "a." * 500))


def test_recorded_runs_with_short_lines_are_said(strange: Path, cli: Run) -> None:
    (strange / "study.toml").write_text((strange / "study.toml").read_text() + '[recorded.other]\nfile = "o.csv"\n')
    (strange / "o.csv").write_text("delay,rate,status\n10\n")
    assert cli("study", strange, "--out", "out").returncode == 0, "a figure that is missing is absent"
    (strange / "o.csv").write_text("rate,delay,status\n10\n")
    done = cli("study", strange, "--out", "out")
    assert (done.returncode, "delay: found '', expected a number" in done.stderr) == (2, True)


# ---- Results of another's comparison, and of another's call.


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a comparison of a second."""
    out = tmp_path_factory.mktemp("compared") / "out"
    call = CALL.replace('"10s"', '"1s"').replace('["5s", "4Mbps"]', '["0.5s", "4Mbps"]')
    paceline.compare(["urcp", "um"], over=call, seeds=1, out=out, workers=1)
    return out


@pytest.fixture
def theirs(compared: Path, tmp_path: Path) -> Path:
    """A copy that can be changed."""
    return Path(shutil.copytree(compared, tmp_path / "theirs"))


def _said(folder: Path) -> Callable[..., None]:
    found = json.loads((folder / "comparison.json").read_text())

    def change(**parts: object) -> None:
        (folder / "comparison.json").write_text(json.dumps({**found, **parts}))

    return change


@pytest.mark.parametrize(
    "parts",
    [
        {"cases": {"../../../etc": ["a call", "urcp"]}},
        {"cases": {"/etc": ["a call", "urcp"]}},
        {"cases": {"a\0b": ["a call", "urcp"]}},
        {"cases": ["urcp"]},
        {"controllers": [1]},
        {"controllers": "urcp"},
        {"conditions": []},
        {"flows": {"a short call": {"flows": "video", "links": []}}},
        {"flows": {}},
        {"version": 1},
    ],
)
def test_what_was_compared_has_one_form(theirs: Path, tmp_path: Path, parts: dict[str, object]) -> None:
    _said(theirs)(**parts)
    with pytest.raises(StudyError, match=r"comparison\.json: found a damaged file"):
        joined.read(theirs)
    (theirs / "comparison.json").write_text("[" * 100_000)
    with pytest.raises(StudyError, match=r"comparison\.json: found a damaged file"):
        joined.read(theirs)


def _changed(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    change(pd.read_parquet(path)).to_parquet(path)


def _many(path: Path) -> None:
    """A small file with eleven million rows."""
    one = pq.read_table(path)
    rows = pa.table({name: pa.nulls(1_000_000, one.schema.field(name).type) for name in one.column_names})
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as writer:
        for _ in range(11):
            writer.write_table(rows)


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("results.parquet", lambda path: path.write_bytes(b"PAR1")),
        ("results.parquet", lambda path: _changed(path, lambda one: one.assign(**{"metric.throughput_mbps": "a"}))),
        ("results.parquet", lambda path: _changed(path, lambda one: one.drop(columns="seed"))),
        ("results.parquet", _many),
        ("experiments/{case}/1/flows.parquet", lambda path: path.write_bytes(b"")),
        ("experiments/{case}/1/flows.parquet", lambda path: _changed(path, lambda one: one.assign(time_s="a"))),
        ("experiments/{case}/1/flows.parquet", lambda path: _changed(path, lambda one: one.drop(columns="flow"))),
        ("experiments/{case}/1/links.parquet", lambda path: _changed(path, lambda one: one[["link"]])),
        ("experiments/{case}/1/links.parquet", _many),
        ("experiments/{case}/1/links.parquet", lambda path: (path.unlink(), path.symlink_to("/etc/passwd"))),
    ],
)
def test_tables_of_another_are_said_if_they_are_others(
    theirs: Path, cli: Run, file: str, change: Callable[[Path], object]
) -> None:
    case = next(iter(json.loads((theirs / "comparison.json").read_text())["cases"]))
    change(theirs / file.format(case=case))
    done = cli("compare", "--join", theirs, "--out", "out")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert Path(file).name in done.stderr


def test_names_of_another_do_nothing_in_a_report(theirs: Path, cli: Run, tmp_path: Path) -> None:
    found = json.loads((theirs / "comparison.json").read_text())
    bad = "</script><script>alert(1)</script>"
    text = json.dumps(found).replace('"urcp"', json.dumps(bad)).replace('"a short call"', json.dumps(f"../{bad}"))
    (theirs / "comparison.json").write_text(text)
    named = {"urcp": bad, "a short call": f"../{bad}"}
    _changed(theirs / "results.parquet", lambda one: one.replace(named))
    done = cli("compare", "--join", theirs, "--out", "out")
    assert done.returncode == 0, done.stderr
    out = tmp_path / "cwd" / "out"
    assert "<script>alert" not in (out / "report.html").read_text()
    assert {path.parent for path in out.rglob("*.png")} == {out / "plots"}


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onclick="alert(1)"/>',
        '<image href="http://example.org/x.png"/>',
        '<use xlink:href="file:///etc/passwd#a" xmlns:xlink="http://www.w3.org/1999/xlink"/>',
        "<foreignObject><body/></foreignObject>",
        "<style>@import 'x.css';</style>",
        '<rect style="fill: url(http://example.org/x)"/>',
        '<a href="javascript:alert(1)"/>',
        '<animate attributeName="href"/>',
        "</svg><script>alert(1)</script>",
        "<g>",
        "&lol;",
    ],
)
def test_a_kept_picture_of_another_kind_is_refused(inside: str) -> None:
    with pytest.raises(ValueError, match=r"element|attribute|link|mismatched|undefined|junk"):
        expect_drawing(f'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg">{inside}</svg>')


def test_a_report_takes_no_script_from_the_results(strange: Path, cli: Run, tmp_path: Path) -> None:
    import hashlib
    import zlib

    text = keeping(strange) / "study.toml"
    text.write_text(text.read_text() + '[experiments.shown]\ntitle = "Shown"\nfigures = ["rates"]\n')
    (strange / "published.csv").write_text((strange / "published.csv").read_text().replace('f1,"one"', 'f1,"shown"'))
    assert cli("study", strange, "--out", tmp_path / "out").returncode == 0
    [drawn] = (tmp_path / "out").rglob("rates.svg")
    svg = drawn.read_text()
    expect_drawing(svg)
    bad = svg.replace("</svg>", "<script>alert(1)</script></svg>")
    drawn.write_text(bad)
    # As a stranger would, who hands on results: with a digest that fits.
    journal = tmp_path / "out" / ".study" / "rows-000000.journal"
    old, new = (hashlib.sha256(one.encode()).hexdigest().encode() for one in (svg, bad))
    lines = [line for line in journal.read_bytes().split(b"\n") if line]
    records = [line[9:].replace(old, new) for line in lines]
    journal.write_bytes(b"".join(b"\n%08x %s\n" % (zlib.crc32(record), record) for record in records))
    done = cli("study", strange, "--out", tmp_path / "out")
    assert done.returncode == 2, done.stderr
    assert "rates.svg: found another picture than Paceline draws: the element 'script'" in done.stderr


@pytest.mark.parametrize(
    "summary",
    [
        "[" * 100_000,
        "{}",
        '{"name": "x", "flows": {"video": 1}, "links": {}, "wall_s": 1, "events": 1, "sockets": {}}',
        '{"name": "x", "flows": {"video": {}}, "links": {}, "wall_s": 1, "events": 1, "sockets": {}}',
        '{"name": "x", "flows": {"video": {"sampled": 1}}, "links": {}, "wall_s": 1, "events": 1, "sockets": {}}',
    ],
)
def test_ends_of_a_call_have_one_form(call: paceline.Result, cli: Run, tmp_path: Path, summary: str) -> None:
    for end in ("one", "other"):
        call.save(tmp_path / end)
        (tmp_path / end / "summary.json").write_text(summary)
    flows = pd.read_parquet(tmp_path / "one" / "flows.parquet")
    flows.assign(send_rate_mbps=None).to_parquet(tmp_path / "other" / "flows.parquet")
    done = cli("merge", tmp_path / "one", tmp_path / "other")
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert "found other files than those" in done.stderr


# ---- A page of a browser.


@pytest.fixture
def page() -> Iterator[PageServer]:
    """A server whose page nobody has opened."""
    with PageServer({}) as server:
        yield server


def _posted(server: PageServer, body: bytes) -> int:
    return server.looked(body.decode("utf-8", "replace"))[0]


def test_a_page_that_says_something_deep_or_odd_is_refused(page: PageServer) -> None:
    for body in (
        b'{"time": 1, "figures": ' + b'{"a": ' * 100_000,
        b"[" * 1_000_000,
        b'{"time": 1, "figures": {"a": [1]}}',
        b'{"time": 1e999, "figures": {}}',
        b'{"time": null, "figures": {}}',
    ):
        assert _posted(page, body) == 400
    assert len(page.rows) == 0


def test_what_a_page_says_is_kept_in_so_many_bytes(page: PageServer) -> None:
    """Long names, and figures that nobody asked for, cost nothing; of the others there is a number each."""
    said = {f"{'x' * 900}{number}": number for number in range(900)}
    for time in range(100):
        assert _posted(page, json.dumps({"time": time, "figures": {**said, SOURCES[0]: time}}).encode()) == 200
    assert page.rows[-1] == (99.0, {SOURCES[0]: 99.0})
    assert page.rows._numbers.itemsize * len(page.rows._numbers) == 100 * 8 * (1 + len(SOURCES))


@pytest.mark.long
def test_eleven_hours_of_a_page_take_little_memory(page: PageServer) -> None:
    looks = Looks()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for time in range(MOST_ROWS):
        looks.add(float(time), dict.fromkeys(SOURCES, 1.5))
    page.rows = looks
    assert _posted(page, b'{"time": 1, "figures": {}}') == 400, "there is an end"
    seen = table(looks, 0.0)
    assert seen.num_rows == MOST_ROWS - 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 180_000, "KB"


@pytest.mark.real_time
def test_a_page_that_hangs_up_is_no_news(page: PageServer, capfd: pytest.CaptureFixture[str]) -> None:
    host = urlsplit(page.url)
    for sent in (b"GET / HTTP", b"POST %s HTTP/1.1\r\nContent-Length: 500000\r\n\r\nhalf", b"GET %s HTTP/1.1\r\n\r\n"):
        for _ in range(3):
            with socket.create_connection((host.hostname, host.port)) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                connection.sendall(sent.replace(b"%s", host.path.encode()))
    until("an end of all", lambda: page._server._free._value == MOST_PAGES)
    assert capfd.readouterr().err == ""


@pytest.mark.real_time
def test_so_many_connections_and_no_more_are_heard(page: PageServer) -> None:
    host = urlsplit(page.url)
    before = threading.active_count()
    held = [socket.create_connection((host.hostname, host.port)) for _ in range(3 * MOST_PAGES)]
    until("all of them", lambda: page._server._free._value == 0)
    assert threading.active_count() - before <= MOST_PAGES
    refused = 0
    for connection in held[MOST_PAGES:]:
        connection.settimeout(PATIENCE_S)
        refused += connection.recv(1) == b""
    assert refused == 2 * MOST_PAGES
    for connection in held:
        connection.close()
