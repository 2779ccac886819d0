"""`bandstand simulate`: the regret of algorithms for simulated listeners."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand.cli._options import opened_store, require_store, store_option
from bandstand.cli._output_files import json_option

if TYPE_CHECKING:
    from bandstand.types import Matrix
    from bandstand_lab.simulation.experiment import Experiment, ExperimentResult
    from bandstand_lab.simulation.report import ExperimentReport
    from bandstand_lab.simulation.worlds import Scale, World

# The paper's without its two slow ones, and the strongest of the simple ones.
_ALGORITHMS: Final = (
    *("random", "linucb-c", "linucb-cn", "greedy-cn", "greedy-cn-map"),
    "bayes-ucb-cn-x",
)


@click.command()
@click.option(
    "--algorithm",
    "asked",
    multiple=True,
    metavar="NAME",
    help="Which to compare: give it several times, or names with commas, or `all`.  "
    f"[default: {', '.join(_ALGORITHMS)}]",
)
@click.option(
    "--songs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Songs to choose from; 10,000 unless given.",
)
@click.option(
    "--features", type=click.IntRange(min=1), metavar="N", help="Features of a song; 91 by default."
)
@click.option(
    "--scale",
    type=click.Choice(["entries", "norm"]),
    help="Each feature has variance 1, or each song a mean squared norm of 1.  [default: entries]",
)
@click.option(
    "--noise",
    type=click.FloatRange(min=0),
    metavar="SD",
    help="Standard deviation of ratings; 1 unless given.",
)
@click.option("--library", is_flag=True, help="The songs of your library, as it was scanned.")
@store_option
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=200,
    metavar="N",
    show_default=True,
    help="Songs for each listener.",
)
@click.option(
    "--runs",
    type=click.IntRange(min=1),
    default=10,
    metavar="N",
    show_default=True,
    help="Listeners, the same for every algorithm.",
)
@click.option(
    "--clock",
    type=click.Choice(["paper", "everyday"]),
    default="paper",
    show_default=True,
    help="A song every 50 seconds, or sessions of 4-minute songs three times a day.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    show_default=True,
    help="Fixes everything that is drawn.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes; one per core.")
@json_option
@click.pass_context
def simulate(
    ctx: click.Context, /, *, workers: int | None, json_file: str | None, **settings: Any
) -> None:
    """Compare the regret of algorithms on simulated listeners.

    Regret is the enjoyment lost by not having played the best song of each moment. Every
    algorithm meets the same listeners, songs and moods; the seed fixes all of them.
    """
    # Here, so that --help does not wait for numpy and scipy.
    from bandstand_lab.simulation.report import ExperimentReport

    if ctx.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE:
        settings["library"] = True  # a given store means its library
    experiment = _experiment(**settings)
    outcome = _run(experiment, workers)
    _write(ExperimentReport(experiment=experiment, outcome=outcome), json_file)


def _experiment(
    *, asked: tuple[str, ...], runs: int, steps: int, seed: int, clock: str, **world: Any
) -> Experiment:
    from bandstand_lab.simulation.experiment import Experiment, check_algorithms
    from bandstand_lab.simulation.session import EVERYDAY, PAPER_CLOCK

    names = _names(asked)
    check_algorithms(names)  # refused before the library is read
    return Experiment(
        world=_world_of(**world),
        algorithms=names,
        runs=runs,
        steps=steps,
        seed=seed,
        clock=EVERYDAY if clock == "everyday" else PAPER_CLOCK,
    )


def _names(asked: tuple[str, ...]) -> tuple[str, ...]:
    from bandstand.core.registry import ALGORITHMS

    if asked == ("all",):
        return tuple(ALGORITHMS)
    names = tuple(name.strip() for each in asked for name in each.split(","))
    return names or _ALGORITHMS


def _run(experiment: Experiment, workers: int | None) -> ExperimentResult:
    from bandstand.cli._progress import counting
    from bandstand_lab.simulation.experiment import run_experiment

    with counting("Simulating", lasting=False, of="runs") as progress:
        progress(0, len(experiment.tasks))
        return run_experiment(experiment, workers=workers, on_done=progress)


def _write(report: ExperimentReport, json_file: str | None) -> None:
    from bandstand.cli._output_files import replace_file
    from bandstand_lab.simulation.report import print_report

    if json_file is not None:
        text = json.dumps(report.as_json(), indent=1, allow_nan=False) + "\n"
        replace_file(json_file, text.encode())
    # Last, so that the file is there whatever becomes of the screen.
    if json_file != "-":
        print_report(report)


def _world_of(
    *,
    library: bool,
    store: str | None,
    songs: int | None,
    features: int | None,
    scale: Scale | None,
    noise: float | None,
) -> World:
    """Return the world of these options, or refuse options that do not go together."""
    from bandstand_lab.simulation.worlds import GaussianWorld, TableWorld

    drawn = _given(songs=songs, features=features)
    look = _given(scale=scale, noise_standard_deviation=noise)
    if not library:
        return GaussianWorld(**drawn, **look)
    for name in drawn:
        msg = f"--{name} does not go with --library, which has its own"
        raise click.UsageError(msg)
    return TableWorld(features=_library_features(store), **look)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _library_features(url: str | None) -> Matrix:
    import numpy as np

    from bandstand.music.catalogue.refresh import current

    require_store(url)
    with opened_store(url) as store:
        catalogue = current(store)
        if catalogue is None:
            msg = "a library with songs was expected, found none; `bandstand scan DIR` fills it"
            raise click.UsageError(msg)
        features: Matrix = np.array(catalogue.features, dtype=np.float64)
    return features
