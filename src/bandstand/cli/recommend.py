"""`bandstand recommend`: rank the items of a CSV file for one listener, whose ratings are another.

Items may be of any kind. docs/recommend.md shows the files and what comes out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bandstand._util.timestamps import iso_time, minutes_between, seconds_of
from bandstand._util.words import printable
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from decimal import Decimal

    from bandstand.cli._ranking import HistoryRow

_FILE = click.Path(path_type=Path)


@click.command(short_help="Rank the items of a CSV file for one listener.")
@click.option(
    "--items", "items_path", type=_FILE, required=True, help="CSV: id, names and numeric features."
)
@click.option(
    "--history",
    "history_path",
    type=_FILE,
    required=True,
    help="CSV: item_id,time,rating and perhaps weight, in order of time; ISO-8601 or epoch "
    "seconds.",
)
@click.option(
    "--algorithm",
    metavar="NAME",
    help="How to choose; docs/recommend.md lists the names.  [default: bayes-ucb-cn-x, with names "
    "mixed-effects]",
)
@click.option("--artist", metavar="COLUMN", help="The artist of each item.  [default: artist]")
@click.option("--album", metavar="COLUMN", help="The album of each item.  [default: album]")
@click.option("--tags", metavar="COLUMN", help="The tags of each item.  [default: tags]")
@click.option(
    "--quantile",
    "level",
    type=float,
    metavar="Q",
    help="Level of the quantile, between 0 and 1.  [default: 1 - 1/step]",
)
@click.option(
    "--at",
    "moment",
    metavar="TIME",
    help="When to recommend.  [default: the last row's time, when its item is not fresh at all]",
)
@click.option("--raw", is_flag=True, help="Features as they are, with the paper's priors.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="List only the best N.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    show_default=True,
    help="For what is drawn at random.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def recommend(
    *,
    items_path: Path,
    history_path: Path,
    algorithm: str | None,
    artist: str | None,
    album: str | None,
    tags: str | None,
    level: float | None,
    moment: str | None,
    raw: bool,
    top: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Rank items for one listener, best first.

    ITEMS has a column "id", one row per item of any kind, and numbers. Artists, albums and tags
    are names: every item may have an author, a series and keywords in their place. HISTORY says
    which item was rated when. The minutes since an item's previous rating are derived from it.
    """
    from bandstand.cli._ranking import rank, read_history, read_items, show
    from bandstand.core.model.history import FEATURE_LIMIT
    from bandstand.core.model.scaling import LARGEST_FEATURE
    from bandstand.core.registry import DEFAULT, WITH_NAMES, algorithm_named

    if algorithm is not None:
        algorithm_named(algorithm)  # refused before anything is read
    _check_level(level)
    at = _moment(moment)
    texts = {"artist": artist, "album": album, "tags": tags}
    items = read_items(items_path, limit=FEATURE_LIMIT if raw else LARGEST_FEATURE, texts=texts)
    history = read_history(history_path, ids=frozenset(items.ids))
    _check_order(history, at, moment)
    if at is None:
        _say_moment(history)
    chosen = algorithm or (WITH_NAMES if items.texts else DEFAULT)
    _warn_of_unused(items.texts, chosen)
    ranking = rank(
        items, history, algorithm=chosen, raw=raw, seed=seed, level=level, at=at, top=top
    )
    if as_json:
        click.echo(json.dumps(ranking, allow_nan=False, indent=2))
    else:
        heard = {row.item_id for row in history}
        has_repeats = len(heard) < len(history)
        show(ranking, heard=heard, has_repeats=has_repeats, level=level, names=items.texts)


def _check_level(level: float | None) -> None:
    if level is not None and not 0 < level < 1:
        msg = f"--quantile must be between 0 and 1, both excluded, got {level}"
        raise InvalidInputError(msg)


def _warn_of_unused(kinds: Iterable[str], algorithm: str) -> None:
    """Say which names the algorithm cannot learn from."""
    from bandstand.core.registry import WITH_NAMES, algorithm_named

    unused = " and ".join(f"{kind}s" for kind in kinds if kind != "tags")
    if unused and not algorithm_named(algorithm).has_effects:
        said = f"{algorithm} does not learn from {unused}; {WITH_NAMES} does."
        click.echo(said, err=True)


def _moment(text: str | None) -> Decimal | None:
    try:
        return None if text is None else seconds_of(text)
    except InvalidInputError as problem:
        msg = f"--at: {problem}"
        raise InvalidInputError(msg) from None


def _say_moment(history: Sequence[HistoryRow]) -> None:
    """Say which moment is assumed, and which items count as just heard at it."""
    if history:
        now = history[-1].time
        first, *others = dict.fromkeys(row.item_id for row in history if row.time == now)
        count = f" and {len(others)} more count" if others else " counts"
        said = f"Without --at the moment is that of the last rating, {iso_time(now)}: "
        click.echo(f"{said}{printable(first)}{count} as just heard, not fresh at all.", err=True)


def _check_order(history: Sequence[HistoryRow], at: Decimal | None, shown: str | None) -> None:
    if history and at is not None and at < history[-1].time:
        early = minutes_between(at, history[-1].time)
        msg = (
            f"--at must not be before the last row of the history, got {shown!r}, "
            f"{early:g} minutes before it"
        )
        raise InvalidInputError(msg)
