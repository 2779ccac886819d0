"""The order of the algorithms beyond drawn numbers: real people's tastes, and real songs.

`--taste` gives a survey of how people like genres: songs are mixtures of genres, and listeners
answer in whole stars. `--features` gives the songs of a real catalogue, which are neither normal
nor independent; listeners are drawn as in the paper.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.types import frozen
from bandstand_lab.paper import _orders
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Job, Study, Verdict
from bandstand_lab.report.texts import Texts
from bandstand_lab.simulation.experiment import run_one
from bandstand_lab.simulation.session import EVERYDAY
from bandstand_lab.simulation.worlds import TableWorld, TasteWorld, read_feature_table, read_tastes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Chapter, Finding, Json, Plan

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


def jobs(plan: Plan) -> list[Job]:
    """Return one job per listener of each world; none where the plan has no data."""
    listeners, steps = _size(plan)
    given = {"seed": plan.seed, "steps": steps}
    return [
        Job.of(play, f"{kind}-{run:02d}", kind=kind, file=str(file), run=run, **given)
        for run in range(listeners)
        for kind, file in _files(plan).items()
    ]


def play(*, kind: str, file: str, run: int, seed: int, steps: int) -> dict[str, Json]:
    """Return the regret of every algorithm after each song, for one listener; a job."""
    follow = {
        "taste": lambda: partial(
            run_one, TasteWorld(likings=read_tastes(Path(file)), songs=_SONGS), clock=EVERYDAY
        ),
        "features": lambda: partial(run_one, TableWorld(features=read_feature_table(Path(file)))),
    }[kind]()
    return {
        name: follow(name, run=run, seed=seed, steps=steps).regret.tolist() for name in _ALGORITHMS
    }


def _size(plan: Plan) -> tuple[int, int]:
    """Return the numbers of listeners and of songs."""
    return plan.pick(quick=(4, 40), full=(12, 100))


def _files(plan: Plan) -> dict[str, Path]:
    given = {"taste": plan.taste, "features": plan.features}
    return {kind: file for kind, file in given.items() if file is not None}


def chapter(plan: Plan, results: Mapping[str, Json]) -> Chapter:
    """Return which radio has less regret in each world that was given."""
    listeners, steps = _size(plan)
    regrets: dict[str, dict[str, Matrix]] = {}  # by world and algorithm: (listeners, steps)
    for kind in _files(plan):
        runs = [results[f"{kind}-{run:02d}"] for run in range(listeners)]
        regrets[kind] = {
            name: frozen(np.array([run[name] for run in runs])) for name in _ALGORITHMS
        }
    looks = (steps // 2, steps)
    rows = [
        (_LABELS[kind], look_of(name).label, *_orders.regret_cells(table, looks))
        for kind, tables in regrets.items()
        for name, table in sorted(tables.items(), key=lambda item: float(item[1][:, -1].mean()))
    ]
    shape = (6.2 * len(regrets), 4.4)
    return TEXTS.chapter(
        method={
            "kinds": list(regrets),
            "rule": _orders.TEXTS("rule"),
            "listeners": listeners,
            "steps": steps,
            "songs": _SONGS,
        },
        findings=tuple(_finding(regrets, *claim) for claim in _CLAIMS.items()),
        tables=(TEXTS.table("regret", rows, looks=looks),) if regrets else (),
        drawings=(TEXTS.drawing("regret", partial(_draw, regrets), inches=shape),)
        if regrets
        else (),
        data={
            "regret": {
                kind: {name: table.tolist() for name, table in tables.items()}
                for kind, tables in regrets.items()
            }
        },
    )


def _finding(
    regrets: Mapping[str, Mapping[str, Matrix]], name: str, sides: Sequence[tuple[str, str]]
) -> Finding:
    if not regrets:
        return TEXTS.finding(name, Verdict.OPEN, seen="", judged="")
    tested = _orders.orders(
        (
            f"{_LABELS[kind]}, {look_of(lower).label} against {look_of(upper).label}",
            of[lower][:, -1],
            of[upper][:, -1],
        )
        for kind, of in regrets.items()
        for lower, upper in sides
    )
    words = {"seen": _orders.in_words(tested), "judged": _orders.TEXTS("judged")}
    return TEXTS.finding(name, _orders.verdict(tested), **words)


def _draw(regrets: Mapping[str, Mapping[str, Matrix]], figure: Figure) -> None:
    panels = figure.subplots(1, len(regrets), squeeze=False)[0]
    for axes, (kind, tables) in zip(panels, regrets.items(), strict=True):
        _orders.draw_regret(axes, tables, _LABELS[kind].capitalize())


STUDY: Final = Study(
    name="real_worlds", title="Real tastes and real songs", jobs=jobs, chapter=chapter
)
