"""`paceline check` of a scorecard: bands of sections, cases and figures, and an earlier scorecard."""

from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from conftest import Run
from test_scorecard import GUEST, LITTLE

CHECK = """\
[scorecard]
controllers = ["mine=fixed,rate=1Mbps"]
only = ["little"]
cases = ["mine"]

[bands]
all = { min = 1 }
"RFC 9743 6.3" = { min = 0.5 }
"little near" = { min = 1 }
"little*".rate_mbps = { min = 0.5, max = 1.1 }
"""


@pytest.fixture
def checked(tmp_path: Path, cli: Run) -> Path:
    """The folder in which `cli` works, with the check of a scorecard of the little case."""
    home = tmp_path / "cwd"
    (home / "mine").mkdir()
    (home / "mine" / "little.toml").write_text(LITTLE)
    (home / "card.toml").write_text(CHECK)
    return home


def test_a_check_holds_sections_cases_and_figures_of_a_scorecard(cli: Run, checked: Path) -> None:
    done = cli("check", "card.toml")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "5 of 5 figures hold in 4 runs" in done.stdout
    assert {path.name for path in checked.iterdir()} == {"mine", "card.toml"}
    (checked / "card.toml").write_text(CHECK.replace("rate=1Mbps", "rate=100kbps"))
    done = cli("check", "card.toml", "--junit", "card.xml", "--markdown", "card.md")
    assert done.returncode == 1, done.stderr
    assert "little near: fails" in done.stdout
    root = Xml.parse(checked / "card.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("5", "5")
    assert "**card: does not hold.** 0 of 5 figures hold in 4 runs." in (checked / "card.md").read_text()


def test_a_check_holds_a_scorecard_against_an_earlier_one(cli: Run, checked: Path) -> None:
    (checked / "card.toml").write_text(CHECK + '"little far".loss = { within = 0.01 }\n')
    assert cli("check", "card.toml", "--record", "before").returncode == 0
    assert (checked / "before" / "verdicts.csv").exists()
    same = cli("check", "card.toml", "--against", "before")
    assert same.returncode == 0, same.stdout + same.stderr
    (checked / "card.toml").write_text(
        CHECK.partition("[bands]")[0].replace("rate=1Mbps", "rate=100kbps") + "[bands]\n"
    )
    fallen = cli("check", "card.toml", "--against", "before")
    assert fallen.returncode == 1
    assert "mine, little near: found fails, expected holds, as before, or better" not in fallen.stderr
    assert "little near" in fallen.stdout
    (checked / "card.toml").write_text(CHECK + '"little far".loss = { within = 0.01 }\n')
    alone = cli("check", "card.toml")
    assert (alone.returncode, "found `within` and no earlier scorecard" in alone.stderr) == (2, True)
    nowhere = cli("check", "card.toml", "--against", "mine")
    assert (nowhere.returncode, "found no verdicts.csv there" in nowhere.stderr) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"RFC 9743 6.3"',
            '"RFC 9743 6,3"',
            "card.toml:8: bands.RFC 9743 6,3: found 'RFC 9743 6,3', expected one of all, RFC 9743, RFC 9743 5.1.1",
        ),
        ('"RFC 9743 6.3"', '"RFC 9743 6,3"', "RFC 9743 5.3.1 and "),
        ('"RFC 9743 6.3"', '"RFC 9743 6,3"', "did you mean 'RFC 9743 6.3'?"),
        ('"RFC 9743 6.3"', '"RFC 9743 7.1"', "found no case of it among those of `only`"),
        ('"little near"', '"little nar"', "did you mean 'little near'?"),
        ("rate_mbps", "rate_mbs", "found no figure 'rate_mbs' in case 'little near', expected one of rate_mbps, loss"),
        ("{ min = 0.5 }", "{ }", "found no limit, expected min, max or within"),
        ("{ min = 0.5 }", '{ min = 0.5, statistic = "mean" }', "statistic: found 'mean', expected none"),
        ("[bands]", "seeds = 3\n\n[bands]", "found key 'seeds'"),
        ("[scorecard]", "seeds = 3\n[scorecard]", "seeds: found it beside [scorecard]"),
        ("[scorecard]", 'scenario = "call.toml"\n[scorecard]', "found it beside [scorecard]"),
        ('cases = ["mine"]', 'cases = ["yours"]', "found no case (*.toml) there"),
        ('only = ["little"]', 'only = ["nothing"]', "found no case called so"),
        ("mine=fixed,rate=1Mbps", "fixd", "did you mean"),
        ('controllers = ["mine=fixed,rate=1Mbps"]\n', "", "controllers"),
    ],
)
def test_a_wrong_check_of_a_scorecard_is_said_before_any_run(
    cli: Run, checked: Path, old: str, new: str, said: str
) -> None:
    assert old in CHECK
    (checked / "card.toml").write_text(CHECK.replace(old, new, 1))
    done = cli("check", "card.toml")
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr + done.stdout


@pytest.mark.parametrize("check", [CHECK, CHECK.partition("[bands]")[0]], ids=["bands", "none"])
def test_a_controller_that_fails_ends_a_check_with_status_1(
    cli: Run, checked: Path, no_guest_left: None, check: str
) -> None:
    (checked / "own.py").write_text(GUEST.replace("BODY", "raise KeyError('mine')"))
    (checked / "card.toml").write_text(check.replace("mine=fixed,rate=1Mbps", "own"))
    done = cli("check", "card.toml", "--controller", "own=own.py:Own", "--markdown", "card.md")
    assert done.returncode == 1, done.stderr
    assert "2 of 2 runs failed" in done.stdout
    assert "KeyError" in done.stdout
    assert "runs that end" in (checked / "card.md").read_text()
