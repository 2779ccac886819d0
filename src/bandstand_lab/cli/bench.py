"""`bandstand bench`: speed, as ratios measured in one run."""

import json
from pathlib import Path
from typing import Any, Final

import click

import bandstand
from bandstand.cli._output_files import json_option

_STEP_OPTIONS: Final = {"quick", "json", "features", "songs", "seed"}
_RADIO_OPTIONS: Final = {"quick", "json", "songs"}
_SONGS: Final = 10_000  # without another benchmark being asked for


@click.command()
@click.option("--quick", is_flag=True, help="A small study, in less than a minute.")
@json_option
@click.option("--features", type=click.IntRange(min=2), help="Features of a song; 91 unless given.")
@click.option(
    "--songs", type=click.IntRange(min=50), help="Songs to choose from; 10,000 unless given."
)
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the simulated listeners.")
@click.option(
    "--radio",
    is_flag=True,
    help="Instead: a server under load; --quick, --json and --songs go with it.",
)
@click.option(
    "--scale",
    is_flag=True,
    help="Instead: a million songs, many listeners; --only and --rate go with it.",
)
@click.option(
    "--only",
    metavar="PART",
    multiple=True,
    help="With --scale: measure only this part; may be given several times.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    multiple=True,
    help="With --scale: turns per second in the part `serving`; may be given several times.",
)
@click.pass_context
def bench(
    ctx: click.Context, /, *, radio: bool, scale: bool, json_file: str | None, **settings: Any
) -> None:
    """Measure speed: a rating learned and the next song chosen, beside LinUCB.

    Times are ratios to references that run beside them, on one thread. It takes some minutes.
    """
    from bandstand_lab.speed.timing import run_pinned

    settings["json"] = json_file
    order = {name: value for name, value in settings.items() if _is_given(value)}
    known = _RADIO_OPTIONS if radio else _STEP_OPTIONS | ({"only", "rate"} if scale else set())
    given = [*(["scale"] if radio and scale else []), *order]
    refused = [name for name in given if name not in known]
    if refused:
        words = "--radio" if radio else "bench"
        msg = f"{words} does not go with {', '.join(f'--{name}' for name in refused)}"
        raise click.UsageError(msg)
    if not radio and not scale:
        order = {"songs": _SONGS, **order, "only": ["small"]}
    module = "benchmarks.radio" if radio else "benchmarks.scale"
    ctx.exit(run_pinned(module, json.dumps(order), folder=_checkout()))


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _checkout() -> Path:
    """Return the folder that holds `benchmarks`, which only a checkout has."""
    root = Path(bandstand.__file__).parents[2]
    if not (root / "benchmarks" / "__init__.py").is_file():
        msg = "benchmarks are part of a checkout of the project, found none beside this package"
        raise click.ClickException(msg)
    return root
