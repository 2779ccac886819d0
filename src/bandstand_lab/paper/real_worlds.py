"""The order of the algorithms beyond drawn numbers: real people's tastes, and real songs.

`--taste` gives a survey of how people like genres: songs are mixtures of genres, and listeners
answer in whole stars. `--features` gives the songs of a real catalogue, which are neither normal
nor independent; listeners are drawn as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen
from bandstand_lab.paper import orders
from bandstand_lab.report import figures
from bandstand_lab.report.study import Chapter, Drawing, Finding, Job, Table, Verdict
from bandstand_lab.simulation.clock import EVERYDAY
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.tables import read_feature_table, read_tastes
from bandstand_lab.simulation.worlds import TableWorld, TasteWorld
from bandstand_lab.statistics.summaries import mean_curve, mean_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix, Vector
    from bandstand_lab.report.study import Cell as TableCell
    from bandstand_lab.report.study import Json, Plan
    from bandstand_lab.simulation.worlds import World

_PLAY: Final = "bandstand_lab.paper.real_worlds:play"
RANDOM, GREEDY, EXACT, VARIATIONAL = "random", "greedy-cn", "bayes-ucb-cn-x", "bayes-ucb-cn-v"
_LINEAR: Final = ("linucb-c", "linucb-cn")
_ALGORITHMS: Final = (
    RANDOM,
    *_LINEAR,
    GREEDY,
    "greedy-cn-map",
    "thompson-cn-x",
    VARIATIONAL,
    EXACT,
)
_LABELS: Final = {"taste": "tastes of a survey", "features": "songs of a catalogue"}
_SONGS: Final = 1_000  # of the world of tastes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    listeners: int
    steps: int

    @classmethod
    def of(cls, plan: Plan) -> _Design:
        return plan.pick(quick=cls(listeners=4, steps=40), full=cls(listeners=12, steps=100))


@dataclass(frozen=True, slots=True, kw_only=True)
class RealWorlds:
    """The study of regret on data of the user's own."""

    name: str = "real_worlds"
    title: str = "Real tastes and real songs"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job per listener of each world; none where the plan has no data."""
        design = _Design.of(plan)
        return tuple(
            Job(
                key=_key(kind, run),
                function=_PLAY,
                arguments={
                    "kind": kind,
                    "file": str(file),
                    "run": run,
                    "seed": plan.seed,
                    "steps": design.steps,
                },
            )
            for run in range(design.listeners)
            for kind, file in _files(plan).items()
        )

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return who has less regret than whom in each world that was given."""
        regrets = _regrets(plan, results)
        return Chapter(
            introduction=_INTRODUCTION,
            method=_method(_Design.of(plan), list(regrets)),
            findings=_findings(regrets),
            tables=(_table(regrets),) if regrets else (),
            drawings=(_drawing(regrets),) if regrets else (),
            data={
                "regret": {
                    kind: {name: table.tolist() for name, table in tables.items()}
                    for kind, tables in regrets.items()
                }
            },
        )


_INTRODUCTION: Final = (
    "In the paper's simulation songs and tastes are independent normal numbers. Real songs come "
    "in clusters, and people agree about many things. Does the order of the algorithms survive?"
)


def _method(design: _Design, kinds: Sequence[str]) -> str:
    if not kinds:
        return "No data were given: --taste takes a survey of people, --features a table of songs."
    worlds = {
        "taste": f"Survey: each of {_SONGS:,} songs is a mixture of genres, w ~ Dirichlet(0.1), "
        "and worth w'g stars when new to somebody who likes the genres by g; ratings are whole "
        "stars, s ~ U(100, 1000) minutes, 20 songs three times a day; radios have the prior for "
        "people.",
        "features": "Catalogue: each column is brought to mean 0 and variance 1; tastes, noise of "
        "1, pauses and priors as in the paper.",
    }
    head = f"{design.listeners} listeners and {design.steps} songs each, the same for all radios."
    return " ".join([head, *(worlds[kind] for kind in kinds), orders.RULE])


def play(*, kind: str, file: str, run: int, seed: int, steps: int) -> dict[str, Json]:
    """Return the regret of every algorithm after each song, for one listener."""
    world, clock = _world(kind, Path(file)), {"clock": EVERYDAY} if kind == "taste" else {}
    return {
        name: run_one(world, name, run=run, seed=seed, steps=steps, **clock).regret.tolist()
        for name in _ALGORITHMS
    }


def _world(kind: str, file: Path) -> World:
    if kind == "taste":
        return TasteWorld(likings=read_tastes(file), songs=_SONGS)
    return TableWorld(features=read_feature_table(file))


def _files(plan: Plan) -> dict[str, Path]:
    given = {"taste": plan.taste, "features": plan.features}
    return {kind: file for kind, file in given.items() if file is not None}


def _key(kind: str, run: int) -> str:
    return f"{kind}-{run:02d}"


def _regrets(plan: Plan, results: Mapping[str, Json]) -> dict[str, dict[str, Matrix]]:
    """Return regret by world and algorithm: (listeners, steps) each."""
    runs = range(_Design.of(plan).listeners)
    return {
        kind: {
            name: frozen(np.array([results[_key(kind, run)][name] for run in runs]))
            for name in _ALGORITHMS
        }
        for kind in _files(plan)
    }


def _findings(regrets: Mapping[str, Mapping[str, Matrix]]) -> tuple[Finding, ...]:
    claims: tuple[tuple[str, Sequence[tuple[str, str]], str, str], ...] = (
        (
            "Random is the worst of all.",
            [(name, RANDOM) for name in _ALGORITHMS if name != RANDOM],
            "Every other algorithm",
            "random",
        ),
        (
            "Both LinUCB algorithms are worse than greedy.",
            [(GREEDY, name) for name in _LINEAR],
            "Greedy",
            "LinUCB",
        ),
        ("Bayes-UCB is better than greedy.", [(EXACT, GREEDY)], "Exact Bayes-UCB", "greedy"),
        (
            "Variational Bayes-UCB is better than greedy.",
            [(VARIATIONAL, GREEDY)],
            "Variational Bayes-UCB",
            "greedy",
        ),
    )
    return tuple(_finding(regrets, *claim) for claim in claims)


def _finding(
    regrets: Mapping[str, Mapping[str, Matrix]],
    claim: str,
    sides: Sequence[tuple[str, str]],
    lower: str,
    upper: str,
) -> Finding:
    place = "Section 5.2.1, on other data"
    if not regrets:
        return Finding(
            paper=claim,
            place=place,
            measured="Nothing: neither --taste nor --features was given.",
            verdict=Verdict.OPEN,
            why="There are no data.",
        )
    cells = orders.cells(
        orders.Pair(
            place=_place(kind, *names), lower=_last(of, names[0]), upper=_last(of, names[1])
        )
        for kind, of in regrets.items()
        for names in sides
    )
    return Finding(
        paper=claim,
        place=place,
        measured=orders.in_words(cells, lower=lower, upper=upper),
        verdict=orders.verdict(cells),
        why=orders.JUDGED,
    )


def _place(kind: str, lower: str, upper: str) -> str:
    names = (figures.look_of(name).label for name in (lower, upper))
    return f"{_LABELS[kind]} ({' against '.join(names)})"


def _last(regrets: Mapping[str, Matrix], name: str) -> Vector:
    return regrets[name][:, -1]


def _table(regrets: Mapping[str, Mapping[str, Matrix]]) -> Table:
    rows: list[tuple[TableCell, ...]] = []
    for kind, tables in regrets.items():
        for name in sorted(tables, key=lambda name: float(_last(tables, name).mean())):
            half = mean_estimate(tables[name][:, tables[name].shape[1] // 2 - 1])
            end = mean_estimate(_last(tables, name))
            label = figures.look_of(name).label
            rows.append(
                (_LABELS[kind], label, half.mean, half.standard_error, end.mean, end.standard_error)
            )
    steps = next(iter(next(iter(regrets.values())).values())).shape[1]
    columns = ("world", "algorithm", f"n = {steps // 2}", "± SE", f"n = {steps}", "± SE ")
    return Table(title="Regret, the least first", columns=columns, rows=tuple(rows))


def _drawing(regrets: Mapping[str, Mapping[str, Matrix]]) -> Drawing:
    best = {
        kind: min(tables, key=lambda name: float(_last(tables, name).mean()))
        for kind, tables in regrets.items()
    }
    words = [f"{figures.look_of(name).label} on {_LABELS[kind]}" for kind, name in best.items()]
    return Drawing(
        name="regret",
        caption="Mean regret with one standard error to both sides. The least in the end has "
        f"{orders.listed(words)}.",
        draw=partial(_draw, regrets),
        width=6.2 * len(regrets),
        height=4.4,
    )


def _draw(regrets: Mapping[str, Mapping[str, Matrix]], figure: Figure) -> None:
    panels = figure.subplots(1, len(regrets), squeeze=False)[0]
    for axes, (kind, tables) in zip(panels, regrets.items(), strict=True):
        steps = np.arange(1.0, tables[RANDOM].shape[1] + 1)
        last = {}
        for name in figures.in_order(tables):
            curve = mean_curve(tables[name])
            look = figures.look_of(name)
            figures.draw_curve(axes, steps, curve.mean, look, spread=curve.standard_error)
            last[name] = float(curve.mean[-1])
        axes.set(title=_LABELS[kind].capitalize(), xlabel="songs played, n", ylabel="regret")
        axes.set_xlim(0, len(steps))
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        figures.label_ends(axes, last)


STUDY: Final = RealWorlds()
