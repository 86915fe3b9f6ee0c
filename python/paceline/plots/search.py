"""Pictures of a search: its front beside the baselines, the front's parameters, and the judgement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from paceline.plots.style import (
    BLACK,
    BLUE,
    CYCLE,
    GREY,
    ORANGE,
    VERMILION,
    heading,
    legend,
    logarithmic,
    new_figure,
    settings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from paceline.studies.duels import Duel
    from paceline.studies.outcomes import Estimate, Judged, SensitivityResult
    from paceline.studies.search import Trial
    from paceline.studies.search_definition import Tuning

MARKS = "sD^vP*X<>"
PALE = "#D0D0D0"


def draw(tuning: Tuning, judged_of: Mapping[str, Judged]) -> dict[str, Figure]:
    """Every picture of searches by its name."""
    import matplotlib as mpl

    drawn: dict[str, Figure] = {}
    with mpl.rc_context(settings()):
        for name, judged in judged_of.items():
            drawn[f"{name}-front"] = _front(tuning, judged)
            drawn[f"{name}-parallel"] = _parallel(tuning, judged)
            if judged.duels:
                drawn[f"{name}-duels"] = _duels(tuning, judged)
    return drawn


def _named(judged: Judged) -> Iterator[tuple[str, Trial, str, str]]:
    """Baselines and picks, each with its mark and colour."""
    for place, (name, trial) in enumerate(judged.found.named.items()):
        colour = BLACK if name in judged.found.baselines else VERMILION
        yield name, trial, MARKS[place % len(MARKS)], colour


def _front(tuning: Tuning, judged: Judged) -> Figure:
    """The first objective of the search against each of the others, on the training conditions."""
    found = judged.found
    searched = found.objectives
    if len(searched) == 1:
        searched = tuning.judgement.objectives
    others = searched[1:] or searched
    front = set(found.front)
    figure = new_figure(width=3.6 * len(others) + 0.6, height=4.2)
    axes: list[Axes] = list(figure.subplots(1, len(others), squeeze=False)[0])
    for one, other in zip(axes, others, strict=True):
        for label, colour, size, wanted in (("tried", PALE, 5, False), ("front", BLUE, 9, True)):
            chosen = [
                trial.objectives for trial in found.trials if trial.objectives and (trial.number in front) == wanted
            ]
            across, up = ([values[name] for values in chosen] for name in (other, searched[0]))
            one.scatter(across, up, s=size, color=colour, label=label)
        for name, trial, mark, colour in _named(judged):
            where = trial.objectives[other], trial.objectives[searched[0]]
            one.scatter(
                *where, s=46, marker=mark, color=colour, edgecolors="white", linewidths=0.6, label=name, zorder=3
            )
        if tuning.objective(other).geometric:
            logarithmic(one, "x")
        one.set_xlabel(_axis(tuning, other))
    axes[0].set_ylabel(_axis(tuning, searched[0]))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    heading(figure, f"{found.title}: {len(found.trials)} sets on the training recordings")
    return figure


def _parallel(tuning: Tuning, judged: Judged) -> Figure:
    """Each set of the front as a line over factors, as parts of their ranges, and objectives, the better the higher."""
    found = judged.found
    factors = found.factors
    names = found.objectives
    front = [trial for trial in found.trials if trial.number in set(found.front)]
    spans = {name: tuning.objective(name).scores([trial.objectives[name] for trial in front]) for name in names}

    def line(trial: Trial) -> list[float]:
        values = [factor.part(float(trial.measured.point[factor.name])) for factor in factors]
        for name in names:
            low, high = float(spans[name].min()), float(spans[name].max())
            part = (float(tuning.objective(name).scores(trial.objectives[name])) - low) / ((high - low) or 1.0)
            values.append(part if tuning.objective(name).maximise else 1 - part)
        return values

    figure = new_figure(width=10.0, height=5.2)
    axes = figure.subplots()
    places = range(len(factors) + len(names))
    for number, trial in enumerate(front):
        axes.plot(places, line(trial), color=BLUE, alpha=0.12, linewidth=0.8, label="" if number else "front")
    picks = [(name, trial) for name, trial in found.picks.items() if trial is not None]
    for place, (name, trial) in enumerate(picks):
        axes.plot(
            places,
            line(trial),
            color=CYCLE[(place + 1) % len(CYCLE)],
            linewidth=2.0,
            marker="o",
            markersize=3,
            label=name,
        )
    first = next(iter(found.baselines))
    axes.plot(
        places,
        [min(max(value, 0.0), 1.0) for value in line(found.baselines[first])],
        color=BLACK,
        linestyle="--",
        label=first,
    )
    axes.axvline(len(factors) - 0.5, color=GREY)
    axes.set_xticks(list(places), [*(factor.name for factor in factors), *names], rotation=60, ha="right", fontsize=8)
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("part of the range | better upwards")
    axes.set_title(f"{found.title}: the front")
    legend(axes)
    return figure


def _duels(tuning: Tuning, judged: Judged) -> Figure:
    """Each pick beside each baseline on the held-out conditions, with the intervals."""
    objectives = tuning.judgement.objectives
    figure = new_figure(width=9.0, height=1.3 + 0.3 * len(judged.duels))
    axes: list[Axes] = list(figure.subplots(1, len(objectives), squeeze=False, sharey=True)[0])
    rows: list[Duel] = judged.duels[::-1]
    for place, (one, objective) in enumerate(zip(axes, objectives, strict=True)):
        for row, duel in enumerate(rows):
            difference = duel.differences[place]
            mean, low, high = difference.change
            colour = BLUE if difference.ahead else ORANGE
            one.errorbar(mean, row, xerr=[[mean - low], [high - mean]], fmt="o", markersize=4, capsize=3, color=colour)
        one.axvline(0.0, color=GREY)
        unit = "%" if tuning.objectives[objective].geometric else "difference"
        want = "more" if tuning.objectives[objective].maximise else "less"
        one.set_xlabel(f"{objective}, {unit} ({want} is better)")
    axes[0].set_yticks(range(len(rows)), [f"{duel.one} beside {duel.other}" for duel in rows])
    figure.suptitle(
        f"{judged.found.title}: {len(tuning.held_out)} held-out recordings, "
        f"{100 * tuning.judgement.confidence:g} % intervals (blue: better)",
        x=0.01,
        ha="left",
    )
    return figure


def _axis(tuning: Tuning, name: str) -> str:
    objective = tuning.objective(name)
    return f"{name} ({'more' if objective.maximise else 'less'} is better)"


def draw_sensitivity(result: SensitivityResult) -> dict[str, Figure]:
    """Bars with intervals: the screening of all parameters, and the total indices of the first."""
    import matplotlib as mpl

    with mpl.rc_context(settings()):
        return {
            "morris": _bars(
                {line.factor: line.effects for line in result.ranking}, "mean effect mu*, in standard deviations"
            ),
            "sobol": _bars({line.factor: line.total for line in result.sobol}, "total index, part of the variance"),
        }


def _bars(lines: dict[str, dict[str, Estimate]], axis: str) -> Figure:
    objectives = list(next(iter(lines.values())))
    figure = new_figure(width=2.6 * len(objectives) + 1.6, height=0.9 + 0.22 * len(lines))
    axes: list[Axes] = list(figure.subplots(1, len(objectives), squeeze=False, sharey=True)[0])
    places = range(len(lines), 0, -1)
    for one, objective in zip(axes, objectives, strict=True):
        estimates = [line[objective] for line in lines.values()]
        one.barh(places, [max(estimate.value, 0.0) for estimate in estimates], color=BLUE, height=0.6)
        one.errorbar(
            [estimate.value for estimate in estimates],
            list(places),
            xerr=[estimate.half for estimate in estimates],
            fmt="none",
            ecolor=BLACK,
            capsize=2,
            linewidth=0.8,
        )
        one.set_title(objective)
        one.set_xlim(left=0)
    axes[0].set_yticks(list(places), list(lines))
    figure.supxlabel(f"{axis} (95 % intervals)")
    return figure
