"""`bandstand priors`: what the radio takes for granted of people, learned again from ratings."""

import json
from pathlib import Path
from typing import Final

import click

from bandstand.cli._output_files import check_output, json_option, replace_file
from bandstand.cli._tables import print_table
from bandstand.errors import InvalidInputError

_WORDS: Final = {
    "mean": "mean rating, over people",
    "people": "how people's means differ",
    "artist": "how artists differ for a person",
    "album": "how albums of an artist differ",
    "song": "how songs of an album differ",
    "rest": "how ratings differ beyond that",
    "spread": "by which factor that differs between people",
}


@click.command(short_help="Estimate how people differ, from many people's ratings.")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--scale",
    type=(float, float),
    default=(1.0, 5.0),
    metavar="LOW HIGH",
    show_default=True,
    help="Lowest and highest rating in FILE, stretched to 1 to 5 stars.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=10),
    default=100,
    metavar="N",
    show_default=True,
    help="How often people are resampled for the intervals.",
)
@click.option("--seed", type=click.IntRange(min=0), default=1, metavar="N", show_default=True)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes; one per core.")
@json_option
def priors(
    *,
    file: Path,
    scale: tuple[float, float],
    draws: int,
    seed: int,
    workers: int | None,
    json_file: str | None,
) -> None:
    """Estimate how people differ, and compare it with the radio's prior.

    FILE is a CSV file with the columns person, song and stars, perhaps artist and album. All
    numbers are stars, with 95 % intervals from drawing the people again.
    """
    check_output([file], json_file)
    from bandstand_lab.people import population as found

    if not scale[0] < scale[1]:
        msg = f"--scale must rise, got {scale[0]:g} {scale[1]:g}"
        raise InvalidInputError(msg)
    rated = found.read_ratings(file, scale)
    best, levels = found.learned(rated), tuple(rated.names)
    measures, usual = best.measures(), found.shipped_measures(levels)
    ends = found.intervals(rated, best, draws=draws, seed=seed, workers=workers)
    if json_file is not None:
        document = {
            "people": rated.people,
            "ratings": len(rated.ratings),
            "measures": {
                name: {"learned": value, "interval": ends[name], "shipped": usual[name]}
                for name, value in measures.items()
            },
        }
        replace_file(json_file, f"{json.dumps(document, allow_nan=False, indent=2)}\n".encode())
    if json_file == "-":
        return
    rows = [
        (
            _WORDS[name],
            "",
            f"{value:.2f}",
            "{:.2f} to {:.2f}".format(*ends[name]),
            f"{usual[name]:.2f}",
        )
        for name, value in measures.items()
    ]
    print_table(("in stars", "", "learned", "95 %", "shipped"), rows, framed=False)
    click.echo(f"\n{rated.people:,} people, {len(rated.ratings):,} ratings.")
