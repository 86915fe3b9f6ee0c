"""Published figures beside ours, and the verdicts by rules that were written down before."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from paceline.studies.spec import DefinitionError, Named, Spec, expect_known, read

HOLDS = "holds"
IN_DIRECTION = "holds in direction"
DOES_NOT_HOLD = "does not hold"
NOT_JUDGED = "not judged"
ON_GENERATED = " on generated traces"
"""Words behind a verdict that was found without the study's recordings."""
NO_DATA = "not judged: no data"
NO_FIGURE = "not judged: no figure of ours"
_FOUND = (HOLDS, IN_DIRECTION, DOES_NOT_HOLD)
VERDICTS = (*_FOUND, *(f"{verdict}{ON_GENERATED}" for verdict in _FOUND), NOT_JUDGED, NO_DATA, NO_FIGURE)


class Rule(Named, frozen=True, kw_only=True):
    """How far our figure may be from the published one."""

    help: str
    judged: bool = True
    absolute: bool = False
    """Whether `holds` and `direction` are in the figure's unit, not parts of the published number."""
    holds: float | None = None
    direction: float | Literal["sign"] | None = None
    """The distance up to which our figure holds in direction; `sign`: if it has the published number's sign."""
    factor: float | None = None
    direction_factor: float | None = None
    """By how many times ours may be above or below the published number to hold, and to hold in direction."""
    floor: float = 0.0
    """Numbers below it count as it where factors judge: nobody can tell them apart."""
    between: tuple[float, float] | None = None
    direction_between: tuple[float, float] | None = None
    """Where ours must lie to hold, and to hold in direction, where no number was published."""

    def __post_init__(self) -> None:
        if (self.between is None) != (self.direction_between is None):
            raise ValueError("found one of between and direction_between, expected both or neither")
        if (self.factor is None) != (self.direction_factor is None):
            raise ValueError("found one of factor and direction_factor, expected both or neither")
        if not self.judged or self.between is not None:
            return
        if self.factor is not None and self.direction_factor is not None:
            if not 1.0 <= self.factor <= self.direction_factor:
                raise ValueError(
                    f"found factors {self.factor:g} and {self.direction_factor:g}, expected 1 or more, in order"
                )
            return
        if self.holds is None or self.direction is None:
            raise ValueError(
                "found no holds and direction, expected them, two factors, or between and direction_between"
            )
        if isinstance(self.direction, float) and self.holds > self.direction:
            raise ValueError("found holds above direction, expected at most that")
        if isinstance(self.direction, float) and self.direction >= 1.0 and not self.absolute:
            raise ValueError(
                f"found direction {self.direction:g}, expected less than 1: nothing at all would hold in direction; "
                "factor and direction_factor are as far below as above"
            )

    def verdict(self, published: float | None, ours: float | None) -> str:
        """The verdict on our figure."""
        if not self.judged:
            return NOT_JUDGED
        if ours is None:
            return NO_FIGURE
        if self.between is not None and self.direction_between is not None:
            held = [low <= ours <= high for low, high in (self.between, self.direction_between)]
        elif self.factor is not None and self.direction_factor is not None:
            assert published is not None
            held = [self._within(limit, published, ours) for limit in (self.factor, self.direction_factor)]
        else:
            assert self.holds is not None
            assert published is not None
            unit = 1.0 if self.absolute else abs(published)
            if self.direction == "sign":
                in_direction = ours * published > 0
            else:
                in_direction = abs(ours - published) <= float(self.direction or 0.0) * unit
            held = [abs(ours - published) <= self.holds * unit, in_direction]
        return HOLDS if held[0] else IN_DIRECTION if held[1] else DOES_NOT_HOLD

    def expected(self, published: float | None) -> str:
        """In words, where our figure must lie at least."""
        limits = self.direction_between or self.between
        if limits is not None:
            return f"{limits[0]:g} to {limits[1]:g}"
        told = "" if published is None else f"{published:g}"
        if self.direction_factor is not None:
            return f"at most {self.direction_factor:g} times above or below {told}"
        if self.direction == "sign":
            return f"the sign of {told}"
        size = float(self.direction or 0.0)
        return f"within {size:g} of {told}" if self.absolute else f"within {100 * size:g} % of {told}"

    def _within(self, factor: float, published: float, ours: float) -> bool:
        """Whether one number is at most so many times the other."""
        one, other = (max(abs(number), self.floor) for number in (published, ours))
        return ours * published >= 0.0 and max(one, other) <= factor * min(one, other)


class Published(Spec, frozen=True, kw_only=True):
    """One number or claim of the paper."""

    id: str
    experiment: str
    """Which rows it is of: a name, or a condition in SQL."""
    where: str
    kind: str
    statement: str
    published: float | None
    unit: str
    metric: str | None
    """The figure of these rows: a metric, or an expression in SQL."""
    rule: str
    note: str

    @property
    def name(self) -> str:
        """The design or experiment that it is of; empty where SQL selects the rows."""
        return "" if " " in self.experiment else self.experiment


@dataclass(frozen=True)
class Comparison:
    """One line of comparison.csv."""

    published: Published
    ours: float | None
    verdict: str
    beside: dict[str, float | None] = field(default_factory=dict)
    """The same figure of the experiments that are shown beside, by heading."""

    @property
    def difference(self) -> float | None:
        """Ours less the published number, in its unit."""
        if self.ours is None or self.published.published is None:
            return None
        return self.ours - self.published.published

    @property
    def difference_percent(self) -> float | None:
        """The difference as a part of the published number."""
        if self.difference is None or not self.published.published:
            return None
        return 100.0 * self.difference / abs(self.published.published)


def judged(rule: Rule, published: Published, ours: float | None, has_data: bool, is_free: bool = False) -> str:
    """The verdict of a figure.

    Where the study's recordings were not there it is none, unless the figure `is_free` of them: then the same rule
    judges, and the verdict says that the traces were generated.
    """
    verdict = rule.verdict(published.published, ours)
    if has_data or verdict == NOT_JUDGED:
        return verdict
    return f"{verdict}{ON_GENERATED}" if is_free and verdict in _FOUND else NO_DATA


def expect_judged(key: str, ids: Collection[str], lines: Iterable[Published], rules: Mapping[str, Rule]) -> None:
    """Refuses names of figures that there are not, and of those that no rule judges.

    Raises:
        DefinitionError: The key names such a figure.
    """
    known = [line.id for line in lines if rules[line.rule].judged]
    for one in ids:
        expect_known(key, one, known)


def read_published(path: Path, rules: Mapping[str, Rule]) -> list[Published]:
    """The published figures and claims of a CSV file: each once, with a rule, and judged or with a note why not."""
    rows = list(_rows(path))
    seen: set[str] = set()
    for row in rows:
        if row.rule not in rules:
            known = f" or one of {', '.join(rules)}" if rules else ""
            expected = f"a table [rules.{row.rule[:40]}] in study.toml, with help, holds and direction{known}"
            raise DefinitionError(f"{row.id}: rule", f"found {row.rule!r}, expected {expected}")
        if row.id in seen:
            raise DefinitionError(row.id, "found twice, expected each id once")
        seen.add(row.id)
        rule = rules[row.rule]
        if rule.judged and row.metric is None:
            raise DefinitionError(f"{row.id}: metric", f"found none, expected one: rule {row.rule!r} judges")
        if rule.judged and rule.between is None and row.published is None:
            raise DefinitionError(f"{row.id}: published", f"found none, expected a number: rule {row.rule!r} needs it")
        if not rule.judged and not row.note:
            raise DefinitionError(f"{row.id}: note", "found none, expected why it is not judged")
    return rows


def _rows(path: Path) -> Iterator[Published]:
    columns, needed = list(Published.__struct_fields__), ("id", "experiment", "metric", "rule")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            names = list(reader.fieldnames or ())
            said, expected = f"found columns {names}", ", ".join(columns)
            if missing := [name for name in needed if name not in names]:
                raise DefinitionError("", f"{said}, without {', '.join(missing)}; expected {expected}")
            if other := [name for name in names if name not in columns or names.count(name) > 1]:
                raise DefinitionError("", f"{said}, with {other[0]!r}; expected each once of {expected}")
            for row in reader:
                if None in row:
                    raise DefinitionError(f"line {reader.line_num}", f"found more cells than {len(names)} columns")
                whole = {**dict.fromkeys(columns, ""), "kind": "claim", **row}
                found = {
                    key: None if key in ("published", "metric") and not text else text for key, text in whole.items()
                }
                yield read(f"line {reader.line_num}", found, Published, strict=False)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DefinitionError("", f"cannot be read: {error}") from None


def comparison_csv(lines: list[Comparison]) -> str:
    """Published, ours, difference and verdict, one line for each published figure."""
    beside = list(dict.fromkeys(title for line in lines for title in line.beside))
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    head = ("id", "experiment", "where", "kind", "statement", "published", "unit", "metric", "ours")
    writer.writerow([*head, "difference", "difference_percent", "rule", "verdict", *beside, "note"])
    for line in lines:
        row = line.published
        figures = (_six(line.ours), _six(line.difference), _six(line.difference_percent))
        others = (_six(line.beside.get(title)) for title in beside)
        said = (row.id, row.experiment, row.where, row.kind, row.statement, _six(row.published), row.unit)
        writer.writerow([*said, row.metric or "", *figures, row.rule, line.verdict, *others, row.note])
    return sink.getvalue()


def _six(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
