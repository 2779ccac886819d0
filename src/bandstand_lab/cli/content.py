"""`bandstand content`: how well features explain ratings, by cross-validation.

docs/research/own-data.md shows the files and what comes out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bandstand.cli._output_files import check_outputs, json_option, plot_option
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand_lab.content.comparison import RaterComparison
    from bandstand_lab.content.ratings import RatedItems

_FILE = click.Path(path_type=Path)


@click.command(short_help="Measure how well the sound of songs explains ratings.")
@click.option(
    "--items", "items_path", type=_FILE, required=True, help="CSV: id and numeric features."
)
@click.option(
    "--ratings",
    "ratings_path",
    type=_FILE,
    required=True,
    help="CSV: item_id,rating and perhaps rater; each item once per rater.",
)
@click.option(
    "--folds",
    "parts",
    type=click.IntRange(min=2),
    default=10,
    metavar="N",
    show_default=True,
    help="Parts into which a rater's ratings are divided.",
)
@click.option(
    "--scale",
    type=(float, float),
    default=(1.0, 5.0),
    metavar="LOW HIGH",
    help="Lowest and highest rating there can be.  [default: 1 5]",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    show_default=True,
    help="Of the folds and the random draws.",
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes.")
@json_option
@plot_option
def content(
    *,
    items_path: Path,
    ratings_path: Path,
    parts: int,
    scale: tuple[float, float],
    seed: int,
    workers: int | None,
    json_file: str | None,
    plot_file: Path | None,
) -> None:
    """Measure how well features explain ratings, rater by rater.

    Every rating is predicted by what was learned from the rater's others: by the content model,
    by ridge regression, by the mean, and by draws of the same distribution.
    """
    check_outputs((items_path, ratings_path), json_file=json_file, plot_file=plot_file)
    # Here, so that --help does not wait for numpy and scipy.
    from bandstand.cli._output_files import replace_file
    from bandstand_lab.content.comparison import described
    from bandstand_lab.content.ratings import read_rated_items

    _check_scale(scale)
    rated = read_rated_items(items_path, ratings_path, folds=parts, scale=scale)
    comparison = _compared(rated, parts=parts, seed=seed, workers=workers)
    if json_file != "-":
        click.echo(described(comparison, parts=parts, seed=seed))
    if plot_file is not None:
        from bandstand_lab.content.plot import content_picture

        kind = plot_file.suffix.lower().lstrip(".")
        replace_file(str(plot_file), content_picture(comparison, kind))
    if json_file is not None:
        settings = {"folds": parts, "scale": list(scale), "seed": seed, "features": rated.columns}
        replace_file(json_file, _as_json(comparison, settings))


def _compared(rated: RatedItems, *, parts: int, seed: int, workers: int | None) -> RaterComparison:
    """Return the errors of all raters, in the order of the file."""
    from bandstand.cli._progress import counting
    from bandstand_lab.content.comparison import RaterComparison
    from bandstand_lab.content.validation import Task, rater_errors
    from bandstand_lab.report.tasks import run_tasks

    tasks = [Task(rated.features[rater.rows], rater, parts, seed) for rater in rated.raters]
    found = {}
    with counting("cross-validation", of="raters", lasting=False) as progress:
        progress(0, len(tasks))
        for number, errors in run_tasks(rater_errors, tasks, workers=workers):
            found[number] = errors
            progress(len(found), len(tasks))
    return RaterComparison(raters=tuple(found[number] for number in range(len(tasks))))


def _as_json(comparison: RaterComparison, settings: dict[str, Any]) -> bytes:
    text = json.dumps(settings | comparison.as_json(), allow_nan=False, indent=1)
    return f"{text}\n".encode()


def _check_scale(scale: tuple[float, float]) -> None:
    lowest, highest = scale
    if not -1e30 <= lowest < highest <= 1e30:
        msg = f"--scale must be a lowest and a highest rating, got {lowest:g} and {highest:g}"
        raise InvalidInputError(msg)
