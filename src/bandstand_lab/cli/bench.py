"""`bandstand bench`: speed, as ratios measured in one run."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import bandstand


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


def _checked_plot(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a picture that could not be drawn before anything is measured for it."""
    if value is not None and value.suffix.lower() not in {".png", ".svg", ".pdf"}:
        msg = f"expected a name that ends in .png, .svg or .pdf, got {str(value)!r}"
        raise click.BadParameter(msg, ctx, param)
    if value is not None and find_spec("matplotlib") is None:
        msg = "a figure needs matplotlib, found none; install bandstand[report]"
        raise click.BadParameter(msg, ctx, param)
    return value


def _checked_folder(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse a file in a folder that is not there."""
    if value is not None and str(value) != "-" and not Path(value).absolute().parent.is_dir():
        msg = f"expected a file in a folder that exists, got {str(value)!r}"
        raise click.BadParameter(msg, ctx, param)
    return value


def _plot_option(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    folder_exists: Path | None = _checked_folder(ctx, param, value)
    return _checked_plot(ctx, param, folder_exists)


@click.command()
@click.option("--quick", is_flag=True, help="A small study, in less than a minute.")
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    callback=_checked_folder,
    help="Write every measurement there; - is standard output, in place of the tables.",
)
@click.option(
    "--plot",
    "plot_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.png",
    callback=_plot_option,
    help="Draw the paper's efficiency figure; with --scale how steps grow (the part growth).",
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
    help="Instead: a million songs, many listeners; not --audio, --radio, --sizes, --repeats.",
)
@click.option(
    "--only",
    metavar="PART",
    multiple=True,
    help="Of --scale: measure only this part; may be given several times.",
)
@click.pass_context
def bench(
    ctx: click.Context,
    /,
    *,
    quick: bool,
    json_file: str | None,
    plot_file: Path | None,
    audio: Path | None,
    radio: bool,
    scale: bool,
    only: tuple[str, ...],
    **settings: Any,
) -> None:
    """Measure speed: training times, and one online step beside LinUCB.

    Everything is told as ratios to references that run beside it, on one thread. The whole
    study takes some minutes.
    """
    # Imported here, so that other commands start without it.
    from bandstand_lab.speed.timing import run_pinned  # noqa: PLC0415

    given = {name: value for name, value in settings.items() if value is not None}
    if scale:
        if audio or radio or given.keys() & {"sizes", "repeats"}:
            msg = "--scale does not go with --audio, --radio, --sizes or --repeats"
            raise click.UsageError(msg)
        wanted = {"quick": quick, "json": json_file, "plot": plot_file and str(plot_file), **given}
        parts = {"only": only} if only else {}
        ctx.exit(
            run_pinned(
                "benchmarks.scale.bench", json.dumps({**wanted, **parts}), folder=_checkout()
            )
        )
    if only:
        msg = "--only goes with --scale"
        raise click.UsageError(msg)
    if radio:
        if audio or plot_file or given.keys() - {"songs"}:
            msg = "--radio goes with --quick, --json and --songs only"
            raise click.UsageError(msg)
        wanted = {"quick": quick, "json": json_file, **given}
        ctx.exit(run_pinned("benchmarks.radio_speed.bench", json.dumps(wanted), folder=_checkout()))
    if audio is not None:
        if quick or plot_file or given:
            msg = "--audio goes with --json only"
            raise click.UsageError(msg)
        wanted = {"folder": str(audio), "json": json_file}
        ctx.exit(run_pinned("benchmarks.audio_bench", json.dumps(wanted), folder=_checkout()))
    if find_spec("jinja2") is None:
        msg = "the claims of the report need jinja2, found none; install bandstand[report]"
        raise click.ClickException(msg)
    order = {"quick": quick, "json": json_file, "plot": plot_file and str(plot_file), **given}
    code = run_pinned("bandstand_lab.speed.bench", json.dumps(order))
    if code:
        msg = f"the measuring process must end with code 0, got {code}"
        raise click.ClickException(msg)


def _checkout() -> Path:
    """Return the folder that holds `benchmarks`, which only a checkout has."""
    root = Path(bandstand.__file__).parents[2]
    if not (root / "benchmarks" / "__init__.py").is_file():
        msg = "benchmarks are part of a checkout of the project, found none beside this package"
        raise click.ClickException(msg)
    return root
