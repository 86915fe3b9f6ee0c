"""The questions of the field's documents: each points at the cases that answer it, or says why none does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.errors import one_of
from paceline.studies.spec import DefinitionError, Spec, read, told_with_line
from paceline.toml import decoded, loads


class Question(Spec, frozen=True, kw_only=True):
    """A section of a document that asks something of a controller."""

    section: str
    title: str
    not_asked: str = ""
    """The reason why no case answers it, or why those that do answer a part alone."""


class Document(Spec, frozen=True, kw_only=True):
    """A document with its questions in their order."""

    name: str
    """Its number, such as `RFC 9743`."""
    title: str
    read: str
    """Which text was read."""
    questions: tuple[Question, ...]

    def called(self, question: Question) -> str:
        """The name by which cases answer a question of it, such as `RFC 9743 5.1.2`."""
        return f"{self.name} {question.section}"

    @property
    def by_name(self) -> dict[str, Question]:
        """Its questions by their names."""
        return {self.called(one): one for one in self.questions}


ALL = "all"
"""The name of the grade over all cases."""


def sections(documents: Iterable[Document]) -> dict[str, set[str]]:
    """The questions of each grade by its name: of all documents, of each, and of each of its sections."""
    own = {one.name: [*one.by_name] for one in documents}
    found = {ALL: {name for names in own.values() for name in names}}
    for document, names in own.items():
        found[document] = {*names}
        found |= {name: {name} for name in names}
    return found


def documents_of(folder: Path) -> tuple[Document, ...]:
    """The documents of a folder in the order of their files' names.

    Raises:
        StudyError: A file is wrong.
    """
    found = []
    for path in sorted(folder.glob("*.toml")):
        text = decoded(path.read_bytes(), str(path))
        with told_with_line(path, text):
            found.append(read("", loads(text), Document))
    return tuple(found)


@dataclass(frozen=True)
class Known:
    """All questions, by document and section."""

    documents: Sequence[Document]

    def expect(self, where: str, answer: str) -> None:
        """Refuses an answer to a question that no document has."""
        names = [name for one in self.documents for name in one.by_name]
        if answer not in names:
            beginning = answer.rpartition(" ")[0]
            near = [name for name in names if name.startswith(f"{beginning} ")] or [one.name for one in self.documents]
            raise DefinitionError(where, f"found {answer!r}, {one_of(answer, near)}")
