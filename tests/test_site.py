"""The site of the documentation: pages and links of the repository as it shows them."""

import importlib.util
from types import ModuleType

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "site" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        ("docs/compare.md", "[a](networks.md#b)", "[a](networks.md#b)"),
        ("docs/compare.md", "[a](../studies/scream-5g/README.md#b)", "[a](studies/scream-5g/README.md#b)"),
        ("docs/compare.md", "[a](../scenarios/first-call.toml)", "[a](source/scenarios/first-call.toml.md)"),
        ("docs/compare.md", "[`a[0]`](../crates/wire/src)", "[`a[0]`](source/crates/wire/src/README.md)"),
        ("docs/compare.md", "![a](images/overview.png)", "![a](images/overview.png)"),
        ("docs/compare.md", "[a](https://b.c) [d](#e)", "[a](https://b.c) [d](#e)"),
        ("docs/compare.md", "`[a](../README.md)`", "`[a](../README.md)`"),
        (
            "docs/compare.md",
            "```\n[a](../README.md)\n```\n[a](../README.md)",
            "```\n[a](../README.md)\n```\n[a](set-up.md)",
        ),
        ("README.md", "[a](docs/compare.md)", "[a](compare.md)"),
        ("README.md", "[a](crates/cc/src/gcc/DEVIATIONS.md)", "[a](algorithms/gcc-differences.md)"),
        (
            "docs/README.md",
            "[a](../crates/cc/src/gcc/DEVIATIONS.md#how-it-works)",
            "[a](algorithms/gcc.md#how-it-works)",
        ),
        ("docs/README.md", "[a](notebooks/first-run.ipynb)", "[a](notebooks/first-run.md)"),
        ("docs/README.md", "[a](slider.html)", "[a](slider.html)"),
        ("docs/README.md", "[a](nowhere.md)", "[a](nowhere.md)"),
    ],
)
def test_links_lead_to_the_same_place(pages: ModuleType, page: str, text: str, shown: str) -> None:
    assert pages.linked(text, page, pages.addresses()[page]) == shown


def test_every_algorithm_says_how_it_works(pages: ModuleType) -> None:
    assert len(pages.algorithms()) >= 19
    for folder, path in pages.algorithms().items():
        title, how, rest = pages.sections(path)
        assert len(how.split()) > 100, path
        assert "How it works" not in rest
        assert len(pages.name_of(title)) < 40, title
        text = pages.algorithm_page(folder, path)
        assert text.startswith(f"# {pages.name_of(title)}\n")
        assert ".svg)" in text or folder == "shared_bottleneck", "it has a picture"


def test_the_picture_of_an_algorithm_is_of_a_run(pages: ModuleType) -> None:
    drawn = pages.picture("fixed").decode()
    assert "<svg" in drawn


def test_files_and_notebooks_are_pages(pages: ModuleType) -> None:
    assert "```toml\n# A video call" in pages.source_page("scenarios/first-call.toml")
    assert "[`lib.rs`](lib.rs.md)" in pages.source_page("crates/wire/src")
    assert "```python\nimport paceline" in pages.notebook_page("docs/notebooks/first-run.ipynb")
