"""Pages of the site that stand outside of docs/: algorithms, studies, parts of the code, and files that pages link to.

Nothing is copied in the repository. A page keeps its place there as its address in the site, and a link that leads
somewhere on a git host leads to the same page, picture or file here. The picture of an algorithm is drawn by a run.
"""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
SCENARIO = "scenarios/first-call.toml"
"""The call of each algorithm's picture."""
CAPTION = f"""\
One call under this controller: a link of 10 Mbit/s that loses half its rate from 25 s to 45 s, 20 ms long, with a
drop-tail queue of 300 ms that marks no packet. Above: how much of the link the call uses. Below: how long packets
wait. The picture is drawn when this site is built, by a run of [the scenario](../source/{SCENARIO}.md)."""
COUPLED = "scenarios/coupled-call.toml"
"""Two coupled calls, for the picture of coupling."""
STANDS_FOR = {"utility": "um", "window": "newreno"}
"""Folders of code that several controllers share, and the controller that shows it."""

_HOW = "How it works"
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^()\s]+)(\))")
_CODE = re.compile(r"^ *```.*?^ *```[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!--.*?-->[ \t]*$", re.MULTILINE | re.DOTALL)
_NO_PAGES = (".", "crates/scenario/reference/", "python/paceline/library/")
"""Forms of a git host, parts of pages that examples make, and links to pages that are there already."""
_PICTURES = {".png", ".svg", ".jpg", ".gif"}
_LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".c": "c", ".h": "c", ".mjs": "js", ".lua": "lua"}


@cache
def repository() -> frozenset[str]:
    """The files of the repository, by their paths."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    return frozenset(name for name in found if name and (ROOT / name).is_file())


def text_of(path: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def algorithms() -> dict[str, str]:
    """The folder of each algorithm's name."""
    found = sorted(one for one in repository() if re.fullmatch(r"crates/cc/src/.*/DEVIATIONS\.md", one))
    return {posixpath.basename(posixpath.dirname(one)): one for one in found}


@cache
def addresses() -> dict[str, str]:
    """The address in the site of each page of Markdown, by its path in the repository."""
    found = {}
    for path in (one for one in repository() if one.endswith(".md") and not one.startswith(_NO_PAGES)):
        found[path] = path.removeprefix("docs/")
    found |= {path: f"algorithms/{name}-differences.md" for name, path in algorithms().items()}
    found["README.md"] = "set-up.md"
    found["docs/notebooks/first-run.ipynb"] = "notebooks/first-run.md"
    return found


def address(path: str, anchor: str = "") -> str | None:
    """The address of a file or folder of the repository; None if there is none."""
    if path in algorithms().values() and anchor == "how-it-works":
        return addresses()[path].replace("-differences", "")
    if path == "crates/cc/src":
        return "algorithms/README.md"
    if path in addresses():
        return addresses()[path]
    if f"{path}/README.md" in addresses():
        return addresses()[f"{path}/README.md"]
    if path in repository():
        is_shown = Path(path).suffix in _PICTURES or (path.startswith("docs/") and path.endswith(".html"))
        return path.removeprefix("docs/") if is_shown else f"source/{path}.md"
    return f"source/{path}/README.md" if any(one.startswith(f"{path}/") for one in repository()) else None


def led(path: str, target: str) -> tuple[str, str] | None:
    """The path in the repository, and the anchor, to which a link of a page leads; None for links elsewhere."""
    place, _, anchor = target.partition("#")
    if not place or re.match(r"[a-z]+:", place):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), place)), anchor


def linked(text: str, path: str, own: str) -> str:
    """A page of the repository with links as the site has them; `own` is the page's address."""

    def change(link: re.Match[str]) -> str:
        found = led(path, link[2])
        to = None if found is None else address(*found)
        if found is None or to is None:
            return link[0]
        anchor = f"#{found[1]}" if found[1] else ""
        return f"{link[1]}{posixpath.relpath(to, posixpath.dirname(own) or '.')}{anchor}{link[3]}"

    # A code span may be the text of a link: links are found with it, but not inside of it.
    spans: list[str] = []

    def hidden(code: re.Match[str]) -> str:
        spans.append(code[0])
        return f"\0{len(spans) - 1}\0"

    changed = _LINK.sub(change, _COMMENT.sub("", _CODE.sub(hidden, text)))
    return re.sub("\0(\\d+)\0", lambda place: spans[int(place[1])], changed)


def links_of(text: str, path: str) -> Iterator[str]:
    """The paths in the repository to which a page links."""
    for link in _LINK.finditer(_CODE.sub("`code`", text)):
        if (found := led(path, link[2])) is not None:
            yield found[0]


# Pages that are made.


def sections(path: str) -> tuple[str, str, str]:
    """The title of a page of differences, how the algorithm works, and all that stands around that."""
    text = text_of(path)
    title, rest = text.removeprefix("# ").split("\n", 1)
    before, _, own = rest.partition(f"## {_HOW}\n")
    how, mark, after = own.partition("\n## ")
    return title, how.strip(), before + mark + after


def name_of(title: str) -> str:
    """The algorithm's name, out of a title such as "Where GCC differs from its sources"."""
    match = re.match(r"Where (.+?) differs", title)
    name = match[1] if match else title.partition(",")[0]
    return f"{name[0].upper()}{name[1:]}"


@cache
def controllers() -> dict[str, dict[str, Any]]:
    """The controllers by their kinds."""
    from paceline.simulation import registry

    return {one["kind"]: one for one in registry()["controllers"]}


def kind_of(folder: str) -> str | None:
    """The controller that shows an algorithm, if there is one."""
    kind = STANDS_FOR.get(folder, folder.replace("_", "-"))
    return kind if kind in controllers() else None


@cache
def picture(kind: str) -> bytes:
    """The call under a controller of this kind, drawn."""
    import paceline
    from paceline.comparison.conditions import conditions
    from paceline.comparison.contenders import contenders
    from paceline.plots import files

    [controller], [condition] = contenders([kind]), conditions([ROOT / SCENARIO])
    result = paceline.run(condition.text(controller))
    drawn = dict(files(result, ["overview"]))
    return next(content for name, content in drawn.items() if name.endswith(".svg"))


@cache
def coupled_picture() -> bytes:
    """The rates of two coupled calls, drawn."""
    import paceline
    from paceline.plots import files

    drawn = dict(files(paceline.run(ROOT / COUPLED), ["coupling"]))
    return next(content for name, content in drawn.items() if name.endswith(".svg"))


def algorithm_page(folder: str, path: str) -> str:
    """How an algorithm works, with its picture."""
    title, how, _ = sections(path)
    name, kind, own = name_of(title), kind_of(folder), f"algorithms/{folder}.md"
    parts = [f"# {name}"]
    if kind is not None:
        parts += [f"`{kind}`: {controllers()[kind]['help']}.", f"![A call under {name}](images/{kind}.svg)"]
        parts += [CAPTION]
    if folder == "coupling":
        parts += ["![Coupled calls](images/coupling.svg)"]
        parts += [f"A run of [the scenario](../source/{COUPLED}.md), drawn when this site is built."]
    parts += [f"## {_HOW}", linked(how, path, own), "## Further"]
    lines = [f"- [Where the code differs]({folder}-differences.md) from what was published, and why"]
    if kind is not None:
        lines += ["- Its parameters, with defaults and sources: [the reference](../scenario-reference.md)"]
        lines += [f"- Beside others: `paceline compare {kind} scream --over {SCENARIO}`; see [compare](../compare.md)"]
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def differences_page(folder: str, path: str) -> str:
    """The page of differences without the part that has a page of its own."""
    title, _, rest = sections(path)
    own = f"algorithms/{folder}-differences.md"
    return f"# {title}\n\n[How it works]({folder}.md) has a page of its own.\n\n{linked(rest, path, own)}"


def algorithms_page() -> str:
    """All algorithms, each with its picture."""
    lines = ["# Algorithms", "Each page says in plain words how an algorithm works, and shows the same call under it."]
    rows = ["| | algorithm | |", "|---|---|---|"]
    for folder, path in algorithms().items():
        kind = kind_of(folder)
        drawn = "coupling" if folder == "coupling" else kind
        shown = f"[![](images/{drawn}.svg){{ width=220 }}]({folder}.md)" if drawn else ""
        told = controllers()[kind]["help"] if kind else ""
        rows.append(f"| {shown} | [{name_of(sections(path)[0])}]({folder}.md) | {told} |")
    return "\n\n".join([*lines, "\n".join(rows)]) + "\n"


def notebook_page(path: str) -> str:
    """A notebook's cells as a page."""
    parts = []
    for cell in json.loads(text_of(path))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + f"\n\nThe notebook is `{path}` in the repository.\n"


def source_page(path: str) -> str:
    """A file of code, or the files of a folder."""
    head = f"---\nsearch: {{ exclude: true }}\n---\n\n# `{path}`\n\n"
    if path in repository():
        text = text_of(path)
        fence = "`" * max(3, *(len(one) + 1 for one in re.findall("`{3,}", text)), 3)
        return f"{head}{fence}{_LANGUAGES.get(Path(path).suffix, 'text')}\n{text}\n{fence}\n"
    lines = [f"- [`{one}`]({one})" if f"{path}/{one}" in repository() else f"- `{one}/`" for one in _direct(path)]
    return head + linked("\n".join(lines), f"{path}/README.md", f"source/{path}/README.md") + "\n"


# Hooks of mkdocs.


def on_config(config: MkDocsConfig) -> None:
    """Headings get the anchors that a git host gives them, and lists of pages their pages."""
    config.mdx_configs["toc"]["slugify"] = lambda text, _: re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-")
    config.markdown_extensions.append("attr_list")
    lists = {
        "algorithms": ["algorithms/README.md", *(f"algorithms/{one}.md" for one in algorithms())],
        "differences": [
            addresses()[one] for one in sorted(addresses()) if re.search("(DEVIATIONS|CONFORMANCE).md", one)
        ],
        "studies": [one for one in sorted(addresses()) if re.fullmatch(r"studies/[^/]+/README\.md", one)],
        "parts": [one for one in sorted(addresses()) if re.match("(crates|examples|fuzz)/.*README.md", one)],
    }
    config.nav = _filled(config.nav, lists)


def _filled(nav: Any, lists: dict[str, list[str]]) -> Any:
    if isinstance(nav, list):
        return [_filled(one, lists) for one in nav]
    if isinstance(nav, dict):
        return {name: _filled(one, lists) for name, one in nav.items()}
    return lists[nav[1:-1]] if isinstance(nav, str) and nav.startswith("[") else nav


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds every page and picture that stands outside of docs/, and each file that a page links to."""

    from mkdocs.structure.files import File, InclusionLevel

    def add(uri: str, content: str | bytes, *, in_nav: bool = True) -> None:
        level = InclusionLevel.INCLUDED if in_nav else InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, uri, content=content, inclusion=level))

    for path, uri in addresses().items():
        if path.startswith("docs/") or path in algorithms().values():
            continue
        add(uri, linked(text_of(path), path, uri))
    for folder, path in algorithms().items():
        add(f"algorithms/{folder}.md", algorithm_page(folder, path))
        add(f"algorithms/{folder}-differences.md", differences_page(folder, path))
        if (kind := kind_of(folder)) is not None:
            add(f"algorithms/images/{kind}.svg", picture(kind))
    add("algorithms/README.md", algorithms_page())
    add("algorithms/images/coupling.svg", coupled_picture())
    add("notebooks/first-run.md", notebook_page("docs/notebooks/first-run.ipynb"))
    waiting = [(path, text_of(path)) for path in addresses() if path.endswith(".md")]
    waiting.append(("README.md", f"[scenario]({SCENARIO}) [coupled]({COUPLED})"))
    made: set[str] = set()
    while waiting:
        for found in links_of(*reversed(waiting.pop())):
            uri = address(found)
            if uri is None or uri in made or files.get_file_from_path(uri) is not None:
                continue
            made.add(uri)
            if Path(found).suffix in _PICTURES:
                add(uri, (ROOT / found).read_bytes())
            elif uri.startswith("source/"):
                add(uri, source_page(found), in_nav=False)
                if found not in repository():
                    files_there = (one for one in _direct(found) if f"{found}/{one}" in repository())
                    waiting.append((f"{found}/README.md", "".join(f"[]({one})" for one in files_there)))
    return files


def _direct(folder: str) -> list[str]:
    """The files and folders directly in a folder."""
    own = f"{folder}/"
    return sorted({one.removeprefix(own).partition("/")[0] for one in repository() if one.startswith(own)})


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Pages of docs/ are read from there: their links become the site's."""
    del config, files
    path = f"docs/{page.file.src_uri}"
    if page.file.src_uri == "playground.md":
        markdown += '\n<a class="md-button" href="playground-page/index.html">Open the playground</a>\n'
    return linked(markdown, path, page.file.src_uri) if page.file.generated_by is None else markdown
