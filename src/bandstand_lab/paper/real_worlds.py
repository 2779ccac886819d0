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
from bandstand_lab.paper import ordering_tests as tests
from bandstand_lab.paper.regret import draw_regret, regret_table
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Chapter, Drawing, Job, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.clock import EVERYDAY
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.tables import read_feature_table, read_tastes
from bandstand_lab.simulation.worlds import TableWorld, TasteWorld

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Finding, Json, Plan
    from bandstand_lab.simulation.worlds import World

TEXTS: Final = Texts(Path(__file__).with_name("templates") / "real_worlds.toml")
RANDOM, GREEDY, EXACT, VARIATIONAL = "random", "greedy-cn", "bayes-ucb-cn-x", "bayes-ucb-cn-v"
_LINEAR: Final = ("linucb-c", "linucb-cn")
_OTHERS: Final = (*_LINEAR, GREEDY, "greedy-cn-map", "thompson-cn-x", VARIATIONAL, EXACT)
_ALGORITHMS: Final = (RANDOM, *_OTHERS)
# Each claim's orders: (lower, upper).
_CLAIMS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "random": [(name, RANDOM) for name in _OTHERS],
    "linucb": [(GREEDY, name) for name in _LINEAR],
    "exact": [(EXACT, GREEDY)],
    "variational": [(VARIATIONAL, GREEDY)],
}
_LABELS: Final = {"taste": "tastes of a survey", "features": "songs of a catalogue"}
_SONGS: Final = 1_000  # of the world of tastes


@dataclass(frozen=True, slots=True, kw_only=True)
class RealWorlds:
    """The study of regret on data of the user's own."""

    name: str = "real_worlds"
    title: str = "Real tastes and real songs"

    def jobs(self, plan: Plan) -> Sequence[Job]:
        """Return one job per listener of each world; none where the plan has no data."""
        listeners, steps = _size(plan)
        return tuple(
            Job(
                key=f"{kind}-{run:02d}",
                function="bandstand_lab.paper.real_worlds:play",
                arguments={
                    "kind": kind,
                    "file": str(file),
                    "run": run,
                    "seed": plan.seed,
                    "steps": steps,
                },
            )
            for run in range(listeners)
            for kind, file in _files(plan).items()
        )

    def chapter(self, plan: Plan, results: Mapping[str, Json]) -> Chapter:
        """Return who has less regret than whom in each world that was given."""
        listeners, steps = _size(plan)
        regrets = _regrets(plan, results)
        rows = [
            (_LABELS[kind], look_of(name).label, table)
            for kind, tables in regrets.items()
            for name, table in sorted(tables.items(), key=lambda item: float(item[1][:, -1].mean()))
        ]
        size = {"listeners": listeners, "steps": steps, "songs": _SONGS}
        table = regret_table(TEXTS("tables.regret.title"), rows, (steps // 2, steps))
        drawing = Drawing(
            name="regret",
            caption=TEXTS("figures.regret.caption"),
            draw=partial(_draw, regrets),
            width=6.2 * len(regrets),
            height=4.4,
        )
        return Chapter(
            introduction=TEXTS("introduction"),
            method=TEXTS("method", kinds=list(regrets), rule=tests.TEXTS("rule"), **size),
            findings=tuple(_finding(regrets, *claim) for claim in _CLAIMS.items()),
            tables=(table,) if regrets else (),
            drawings=(drawing,) if regrets else (),
            data={
                "regret": {
                    kind: {name: table.tolist() for name, table in tables.items()}
                    for kind, tables in regrets.items()
                }
            },
        )


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


def _size(plan: Plan) -> tuple[int, int]:
    """Return the numbers of listeners and of songs."""
    return plan.pick(quick=(4, 40), full=(12, 100))


def _files(plan: Plan) -> dict[str, Path]:
    given = {"taste": plan.taste, "features": plan.features}
    return {kind: file for kind, file in given.items() if file is not None}


def _regrets(plan: Plan, results: Mapping[str, Json]) -> dict[str, dict[str, Matrix]]:
    """Return regret by world and algorithm: (listeners, steps) each."""
    listeners, _ = _size(plan)
    runs = {
        kind: [results[f"{kind}-{run:02d}"] for run in range(listeners)] for kind in _files(plan)
    }
    return {
        kind: {name: frozen(np.array([run[name] for run in each])) for name in _ALGORITHMS}
        for kind, each in runs.items()
    }


def _finding(
    regrets: Mapping[str, Mapping[str, Matrix]], name: str, sides: Sequence[tuple[str, str]]
) -> Finding:
    if not regrets:
        return TEXTS.finding(name, Verdict.OPEN, seen="", judged="")
    cells = tests.cells(
        tests.Pair(
            place=f"{_LABELS[kind]}, {look_of(lower).label} against {look_of(upper).label}",
            lower=of[lower][:, -1],
            upper=of[upper][:, -1],
        )
        for kind, of in regrets.items()
        for lower, upper in sides
    )
    words = {"seen": tests.in_words(cells), "judged": tests.TEXTS("judged")}
    return TEXTS.finding(name, tests.verdict(cells), **words)


def _draw(regrets: Mapping[str, Mapping[str, Matrix]], figure: Figure) -> None:
    panels = figure.subplots(1, len(regrets), squeeze=False)[0]
    for axes, (kind, tables) in zip(panels, regrets.items(), strict=True):
        draw_regret(axes, tables, _LABELS[kind].capitalize())


STUDY: Final = RealWorlds()
