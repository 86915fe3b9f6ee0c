"""Archives of results: written, checked and run again; changed ones and hostile ones are refused."""

import hashlib
import io
import json
import shutil
import stat
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import paceline
from conftest import CALL, Run
from paceline.archives import read as reading
from paceline.archives.write import archive
from paceline.series import MOST_ROWS

SHORT = {"duration": "2s"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over a recording that stands beside its scenario, in `out`, and its archive `one.zip`."""
    folder = tmp_path_factory.mktemp("made")
    own = folder / "own"
    own.mkdir()
    (own / "rates.txt").write_text("".join(f"{second} {4 + second % 3}\n" for second in range(5)))
    (own / "call.toml").write_text(CALL)
    paceline.run(own / "call.toml", overrides=SHORT, out=folder / "out", plots=True)
    archive(folder / "out", folder / "one.zip")
    return folder


@pytest.fixture
def one(made: Path, tmp_path: Path) -> Path:
    """A copy of that run's results."""
    return Path(shutil.copytree(made / "out", tmp_path / "out"))


@pytest.fixture
def packed(made: Path, tmp_path: Path) -> Path:
    """A copy of its archive."""
    return Path(shutil.copy(made / "one.zip", tmp_path / "one.zip"))


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """A copy of an archive with other members."""
    found = members(path)
    change(found)
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(target, "w") as packed:
        for name, content in found.items():
            packed.writestr(name, content)
    return target


def _declare(found: dict[str, bytes], name: str, content: bytes) -> None:
    """A member whose digest the manifest has."""
    manifest = json.loads(found["manifest.json"])
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    found["manifest.json"], found[name] = json.dumps(manifest).encode(), content


def test_a_run_is_archived_checked_and_run_again(cli: Run, one: Path, packed: Path, tmp_path: Path) -> None:
    checked = cli("archive", "--check", packed)
    assert checked.returncode == 0, checked.stderr
    assert "1 runs (run)" in checked.stdout
    again = cli("archive", "--replay", packed, "--out", tmp_path / "again")
    assert again.returncode == 0, again.stderr
    assert "same to the bit: 1 runs" in again.stdout
    assert (tmp_path / "again" / "1" / "flows.parquet").read_bytes() == (one / "flows.parquet").read_bytes()
    found = members(packed)
    assert {"manifest.json", "requirements.txt", "scenarios/1.toml", "results/plots/overview.png"} <= found.keys()
    assert b"matplotlib==" in found["requirements.txt"]


def test_the_same_results_give_the_same_bytes(cli: Run, one: Path, packed: Path, tmp_path: Path) -> None:
    assert cli("archive", one, tmp_path / "two.zip").returncode == 0
    assert (tmp_path / "two.zip").read_bytes() == packed.read_bytes()


@pytest.mark.usefixtures("unpainted")
def test_a_comparison_over_a_recording_names_no_folder_and_runs_again_elsewhere(cli: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "rates.csv").write_text("".join(f"{4 + second % 3}\n" for second in range(5)))
    out = tmp_path / "compared"
    over = f"{kept / 'rates.csv'},format=mbps,interval=1s"
    done = cli("compare", "scream", "gcc", "--over", over, "--seeds", "2", "--duration", "3s", "--out", out)
    assert done.returncode == 0, done.stderr
    done = cli("archive", out, "compared.zip")
    assert done.returncode == 0, done.stderr
    assert "needs:    the recording rates.csv" in done.stdout
    path = tmp_path / "cwd" / "compared.zip"
    for name, content in members(path).items():
        assert not name.startswith("/")
        if name.endswith(".parquet"):
            table = pq.read_table(pa.BufferReader(content))
            content = repr((table.to_pylist(), table.schema.metadata)).encode()
        assert str(tmp_path).encode() not in content, name
    missing = cli("archive", "--replay", path)
    assert missing.returncode == 1
    assert "rates.csv" in missing.stderr
    again = cli("archive", "--replay", path, "--data", kept)
    assert again.returncode == 0, again.stderr
    assert "same to the bit: 4 runs" in again.stdout
    (kept / "rates.csv").write_text("5\n" * 5)
    other = cli("archive", "--replay", path, "--data", kept)
    assert other.returncode == 2
    assert "found another recording" in other.stderr


@pytest.mark.usefixtures("unpainted")
def test_recordings_keep_their_folders_in_that_of_the_data(cli: Run, tmp_path: Path) -> None:
    overs = []
    for folder, mbps in (("lte", 4), ("wifi", 9)):
        path = tmp_path / "data" / folder / "rates.csv"
        path.parent.mkdir(parents=True)
        path.write_text(f"{mbps}\n" * 5)
        overs += ["--over", f"{folder}={path},format=mbps,interval=1s"]
    out, data = tmp_path / "compared", ("--data", tmp_path / "data")
    done = cli("compare", "scream", "gcc", *overs, "--seeds", "2", "--duration", "2s", *data, "--out", out)
    assert done.returncode == 0, done.stderr
    done = cli("archive", out, "compared.zip", *data)
    assert done.returncode == 0, done.stderr
    assert "lte/rates.csv" in done.stdout
    assert "wifi/rates.csv" in done.stdout
    moved = shutil.move(tmp_path / "data", tmp_path / "elsewhere")
    again = cli("archive", "--replay", tmp_path / "cwd" / "compared.zip", "--data", moved)
    assert again.returncode == 0, again.stderr
    assert "same to the bit: 8 runs" in again.stdout


@pytest.mark.usefixtures("unpainted")
def test_a_study_runs_again_without_its_folder(cli: Run, tmp_path: Path) -> None:
    assert cli("new", "study", "mine").returncode == 0
    cwd = tmp_path / "cwd"
    text = (cwd / "mine" / "study.toml").read_text()
    (cwd / "mine" / "study.toml").write_text(
        text.replace("seeds = [1, 2]", "seeds = [1]").replace("count = 16", "count = 2")
    )
    (cwd / "mine" / "call.toml").write_text((cwd / "mine" / "call.toml").read_text().replace('"10s"', '"2s"'))
    assert cli("study", "./mine", "--out", "out").returncode == 0
    done = cli("archive", "out", "mine.zip")
    assert done.returncode == 0, done.stderr
    (cwd / "mine").rename(cwd / "gone")
    again = cli("archive", "--replay", "mine.zip")
    assert again.returncode == 0, again.stderr
    assert "same to the bit: 24 runs" in again.stdout
    rows = pq.read_table(pa.BufferReader(members(cwd / "mine.zip")["results/results.parquet"])).to_pylist()
    assert rows[0]["command"] == "paceline run scenarios/1.toml"


def _changed(found: dict[str, bytes]) -> None:
    found["results/summary.json"] = found["results/summary.json"].replace(b"scream", b"Scream", 1)


def _missing(found: dict[str, bytes]) -> None:
    del found["results/summary.json"]


def _added(found: dict[str, bytes]) -> None:
    found["results/more.txt"] = b"more"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_changed, "results/summary.json: was changed"),
        (_missing, "results/summary.json: is missing"),
        (_added, "results/more.txt: was added"),
    ],
)
@pytest.mark.parametrize("mode", ["--check", "--replay"])
def test_a_changed_archive_is_refused_by_name(
    cli: Run, packed: Path, change: Callable[[dict[str, bytes]], None], said: str, mode: str
) -> None:
    done = cli("archive", mode, rewritten(packed, change))
    assert done.returncode == 2
    assert said in done.stderr


def test_other_figures_are_named_in_a_replay(cli: Run, packed: Path) -> None:
    """An archive whose scenario and manifest are changed alike passes the check; the replay gives other bits."""

    def change(found: dict[str, bytes]) -> None:
        changed = found["scenarios/1.toml"].replace(b'delay = "10ms"', b'delay = "11ms"', 1)
        _declare(found, "scenarios/1.toml", changed)

    changed = rewritten(packed, change)
    assert cli("archive", "--check", changed).returncode == 0
    done = cli("archive", "--replay", changed)
    assert done.returncode == 1
    assert "run: flows.parquet differs" in done.stderr


def _of_many_rows() -> bytes:
    sink = io.BytesIO()
    row = pa.array([0.0]).dictionary_encode()
    rows = pa.DictionaryArray.from_arrays(pa.array(np.zeros(MOST_ROWS + 1, np.int8)), row.dictionary)
    pq.write_table(pa.table({"time_s": rows}), sink, compression="zstd")
    return sink.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("results/flows.parquet", lambda: b"PAR1", "run: results/flows.parquet: found a damaged file"),
        ("results/flows.parquet", lambda: b"PAR1" * 100, "run: results/flows.parquet: found a damaged file"),
        ("results/flows.parquet", _of_many_rows, "10000001 rows, expected 10000000 at most"),
        ("results/summary.json", lambda: b"[" * 200_000, "run: results/summary.json: found a damaged file"),
        ("results/summary.json", lambda: b"\xff", "run: results/summary.json: found a damaged file"),
        ("scenarios/1.toml", lambda: b"\xff", "scenarios/1.toml: found bytes that are not UTF-8"),
    ],
)
def test_a_damaged_file_with_a_right_digest_is_named_in_a_replay(
    cli: Run, packed: Path, name: str, content: Callable[[], bytes], said: str
) -> None:
    done = cli("archive", "--replay", rewritten(packed, lambda found: _declare(found, name, content())))
    assert done.returncode == 2
    assert "changed.zip: " in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "a\\b", "C:/x", "a//b", "./a", "a/", "a\nb"])
def test_a_hostile_name_is_refused(cli: Run, packed: Path, name: str) -> None:
    def change(found: dict[str, bytes]) -> None:
        found[name] = b"hostile"

    done = cli("archive", "--check", rewritten(packed, change))
    assert done.returncode == 2
    assert "nothing of it was used" in done.stderr
    assert "\n" not in done.stderr.strip()


def test_links_bombs_and_twins_are_refused(cli: Run, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = members(packed)
    monkeypatch.setattr(reading, "LEAST_SUSPECT", 1 << 20)
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    bomb = zipfile.ZipInfo("bomb")
    bomb.compress_type = zipfile.ZIP_DEFLATED
    for extra, content, said in (
        (link, b"/etc/passwd", "a link or encrypted"),
        (bomb, bytes(8 << 20), "which unpacks to"),
        (zipfile.ZipInfo("requirements.txt"), b"", "twice"),
    ):
        target = packed.with_name("hostile.zip")
        with zipfile.ZipFile(target, "w") as hostile:
            for name, whole in found.items():
                hostile.writestr(name, whole)
            if said == "twice":
                with pytest.warns(UserWarning, match="Duplicate"):
                    hostile.writestr(extra, content)
            else:
                hostile.writestr(extra, content)
        done = cli("archive", "--check", target)
        assert done.returncode == 2
        assert said in done.stderr
    monkeypatch.setattr(reading, "MOST_BYTES", 1000)
    assert "when it is unpacked" in cli("archive", "--check", packed).stderr


@pytest.mark.parametrize(
    ("method", "declared", "said"),
    [
        (zipfile.ZIP_BZIP2, {"file_size": 100}, "packed by method 12 of ZIP"),
        (zipfile.ZIP_DEFLATED, {"file_size": 100}, "results/bomb: was changed"),
        (zipfile.ZIP_DEFLATED, {"compress_size": 1 << 30}, "no more than the archive's"),
    ],
)
def test_a_member_is_unpacked_no_further_than_its_declared_size(
    cli: Run, packed: Path, method: int, declared: dict[str, int], said: str
) -> None:
    rewritten(packed, lambda found: _declare(found, "results/bomb", bytes(64 << 20)))
    target = packed.with_name("changed.zip")
    found = members(target)
    with zipfile.ZipFile(target, "w") as hostile:
        for name, whole in found.items():
            hostile.writestr(name, whole, method if name == "results/bomb" else zipfile.ZIP_STORED)
        for key, value in declared.items():
            setattr(hostile.getinfo("results/bomb"), key, value)
    del found
    tracemalloc.start()
    done = cli("archive", "--check", target)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert done.returncode == 2
    assert said in done.stderr
    assert most < 32 << 20


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x05\x06" + bytes(18)])
def test_a_file_that_is_no_archive_is_refused(cli: Run, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    done = cli("archive", "--check", tmp_path / "x.zip")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("content", [b"{}", b"[", b'{"format": 99}', b"\xff", b"[" * 100_000])
def test_a_damaged_manifest_is_refused(cli: Run, packed: Path, content: bytes) -> None:
    def change(found: dict[str, bytes]) -> None:
        found["manifest.json"] = content

    done = cli("archive", "--replay", rewritten(packed, change))
    assert done.returncode == 2
    assert "manifest.json" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_damaged_byte_is_found_or_harmless(packed: Path) -> None:
    """A byte that is changed anywhere is refused, or changes nothing that is read."""
    whole = packed.read_bytes()
    expected = members(packed)
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        damaged = packed.with_name("damaged.zip")
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            with reading.Archive(damaged) as archive:
                archive.check()
                assert all(archive.read(name) == expected[name] for name in archive.manifest.files)
        except paceline.PacelineError:
            pass


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("archive", "out"), "found 1 paths"),
        (("archive", "--check", "a.zip", "b.zip"), "found 2 paths"),
        (("archive", "nothing", "x.zip"), "no such folder"),
        (("archive", ".", "x.zip"), "found no results"),
        (("archive", "--check", "nothing.zip"), "no such archive"),
        (("archive", "--check", "x.zip", "--out", "y"), "without --replay"),
    ],
)
def test_wrong_arguments_are_said(cli: Run, arguments: tuple[str, ...], said: str) -> None:
    done = cli(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_an_archive_is_not_replaced(cli: Run, one: Path, packed: Path) -> None:
    before = packed.read_bytes()
    done = cli("archive", one, packed)
    assert done.returncode == 1
    assert "something already" in done.stderr
    assert packed.read_bytes() == before


def test_links_in_a_result_are_not_followed(cli: Run, one: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (one / "link.txt").symlink_to(secret)
    (one / "folder").symlink_to(tmp_path)
    assert cli("archive", one, "x.zip").returncode == 0
    found = members(tmp_path / "cwd" / "x.zip")
    assert not [name for name in found if name.startswith(("results/link.txt", "results/folder"))]
    assert b"secret" not in found.values()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("summary.json", "{"),
        ("summary.json", "[" * 200_000),
        (".study/study.json", "[" * 200_000),
        ("comparison.json", "[" * 200_000),
    ],
)
def test_a_damaged_document_of_results_is_named(cli: Run, one: Path, name: str, content: str) -> None:
    if name != "summary.json":
        _study(one, {"experiments": {}})
        (one / "comparison.json").write_text("{}")
    (one / name).write_text(content)
    done = cli("archive", one, "x.zip")
    assert done.returncode == 2
    assert f"{name}: found damaged results" in done.stderr


@pytest.mark.parametrize(
    "experiments", [{"a": {"based_on": "a"}}, {"a": {"based_on": "b"}, "b": {"based_on": "c"}, "c": {"based_on": "b"}}]
)
def test_experiments_based_on_each_other_are_damaged_results(
    cli: Run, one: Path, experiments: dict[str, dict[str, str]]
) -> None:
    _study(one, {"experiments": experiments}, [{"design": "a", "command": "paceline run scenario.toml"}])
    done = cli("archive", one, "x.zip")
    assert done.returncode == 2
    assert "found damaged results" in done.stderr
    assert "is based on itself" in done.stderr


def _study(out: Path, rows: dict[str, object], runs: Sequence[dict[str, str]] = ()) -> None:
    """The files that make a folder a study's results."""
    pq.write_table(pa.Table.from_pylist(list(runs), None if runs else pa.schema([])), out / "results.parquet")
    (out / ".study").mkdir()
    (out / ".study" / "study.json").write_text(json.dumps({"tables": {"rows": rows}}))


def test_damaged_results_are_said(cli: Run, one: Path) -> None:
    (one / "results.parquet").write_bytes(b"PAR1")
    assert "damaged results" in cli("archive", one, "x.zip").stderr
    table = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), table)
    (one / "results.parquet").write_bytes(table.getvalue())
    assert "study.json" in cli("archive", one, "x.zip").stderr
