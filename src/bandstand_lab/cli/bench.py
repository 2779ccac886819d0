"""`bandstand bench`: speed, as ratios measured in one run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import click

import bandstand

# Options that go with each benchmark; `speed` is the one without an option of its own.
_OPTIONS: Final = {
    "speed": {"quick", "json", "sizes", "repeats", "features", "songs", "seed"},
    "audio": {"json"},
    "radio": {"quick", "json", "songs"},
    "scale": {"quick", "json", "features", "songs", "seed", "only", "rate"},
}


def _sizes(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """Return different numbers of ratings, rising, each at least 5."""
    if value is None:
        return None
    parts = value.split(",")
    sizes = {int(part) for part in parts if part.strip().isdecimal()}
    if len(sizes) < len(parts) or min(sizes) < 5:
        expected = "expected different numbers of ratings, each at least 5, as in 100,400,1000"
        msg = f"{expected}, got {value!r}"
        raise click.BadParameter(msg, ctx, param)
    return tuple(sorted(sizes))


def _checked_folder(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse a file in a folder that is not there."""
    if value is not None and str(value) != "-" and not Path(value).absolute().parent.is_dir():
        msg = f"expected a file in a folder that exists, got {str(value)!r}"
        raise click.BadParameter(msg, ctx, param)
    return value


@click.command()
@click.option("--quick", is_flag=True, help="A small study, in less than a minute.")
@click.option(
    "--json",
    metavar="FILE",
    callback=_checked_folder,
    help="Write every measurement there; - is standard output, in place of the tables.",
)
@click.option(
    "--sizes",
    metavar="N,N,…",
    callback=_sizes,
    help="Numbers of ratings to train on: 100,400,1000.",
)
@click.option("--repeats", type=click.IntRange(min=1), help="Rounds, each with a new listener.")
@click.option("--features", type=click.IntRange(min=2), help="Features of a song; 91 unless given.")
@click.option(
    "--songs", type=click.IntRange(min=50), help="Songs to choose from; 10,000 unless given."
)
@click.option("--seed", type=click.IntRange(min=0), help="Of the simulated listeners.")
@click.option(
    "--audio",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Instead: decode and describe the tracks in a folder; --json goes with it.",
)
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
    help="Of --scale: measure only this part; may be given several times.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    multiple=True,
    help="Of --scale: turns a second of the part serving; may be given several times.",
)
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    *,
    audio: Path | None,
    radio: bool,
    scale: bool,
    **settings: Any,
) -> None:
    """Measure speed: training times, and one online step beside LinUCB.

    Times are ratios to references that run beside them, on one thread. The whole study takes some
    minutes.
    """
    from bandstand_lab.speed.timing import run_pinned

    order = {name: value for name, value in settings.items() if _is_given(value)}
    chosen = {"audio": audio is not None, "radio": radio, "scale": scale}
    benchmarks = [name for name, is_chosen in chosen.items() if is_chosen] or ["speed"]
    module = benchmarks[0]
    refused = [*benchmarks[1:], *(name for name in order if name not in _OPTIONS[module])]
    if refused:
        words = "bench" if module == "speed" else f"--{module}"
        msg = f"{words} does not go with {', '.join(f'--{name}' for name in refused)}"
        raise click.UsageError(msg)
    if audio is not None:
        order["folder"] = str(audio)
    ctx.exit(run_pinned(f"benchmarks.{module}", json.dumps(order), folder=_checkout()))


def _is_given(value: Any) -> bool:
    return value is not None and value is not False and value != ()


def _checkout() -> Path:
    """Return the folder that holds `benchmarks`, which only a checkout has."""
    root = Path(bandstand.__file__).parents[2]
    if not (root / "benchmarks" / "__init__.py").is_file():
        msg = "benchmarks are part of a checkout of the project, found none beside this package"
        raise click.ClickException(msg)
    return root
