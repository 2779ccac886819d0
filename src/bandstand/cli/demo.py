"""`bandstand demo`: follow a simulated listener in the terminal and see what is learnt."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from bandstand.algorithms.recommender import Recommender
    from bandstand.reports.live_picture import Scene
    from bandstand.simulation.catalogue import SyntheticCatalogue
    from bandstand.simulation.learning import Glimpse, Learning
    from bandstand.simulation.listener import StarListener

_FEATURES: Final = 10
_HINT: Final = "Ctrl-C ends it"
# Without a terminal, a line after this many songs: one session.
_LINE_EVERY: Final = 20
# The first songs pass slowly enough to read the screen, the others in this many seconds.
_SLOW_SONGS: Final = 12
_SLOW_SECONDS: Final = 0.7
_QUICK_SECONDS: Final = 18.0
_LONGEST_QUICK_SECONDS: Final = 0.1
# More pictures a second than this cannot be seen.
_SECONDS_PER_PICTURE: Final = 0.07


@click.command(short_help="Follow a simulated listener as it is learnt.")
@click.option(
    "--songs",
    type=click.IntRange(10, 2_000),
    default=400,
    metavar="N",
    show_default=True,
    help="Songs to choose from.",
)
@click.option(
    "--steps",
    type=click.IntRange(1, 10_000),
    default=200,
    metavar="N",
    show_default=True,
    help="Songs to play.",
)
@click.option(
    "--algorithm",
    default="bayes-ucb-cn-x",
    metavar="NAME",
    show_default=True,
    help="How to choose, such as thompson-cn-x.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    metavar="N",
    show_default=True,
    help="Which listener, and which songs.",
)
@click.option("--fast", is_flag=True, help="As fast as it can be computed.")
@click.option(
    "--picture",
    "figure_path",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="OUT.png",
    help="Draw what was learnt.",
)
def demo(
    *, songs: int, steps: int, algorithm: str, seed: int, fast: bool, figure_path: Path | None
) -> None:
    """Follow a simulated listener in the terminal.

    The listener rates each song with 1 to 5 stars, three sessions of 20 songs a day. A second
    radio plays random songs to the same listener. Ctrl-C ends it early.
    """
    # Imported here, so that `bandstand --help` and a wrong option answer at once.
    from bandstand.reports.learning_summary import summary_lines  # noqa: PLC0415
    from bandstand.simulation.learning import learning  # noqa: PLC0415

    if figure_path is not None:
        _check_figure(figure_path)
    show = _Show.drawn(songs=songs, steps=steps, algorithm=algorithm, seed=seed)
    glimpses: list[Glimpse] = []
    with suppress(KeyboardInterrupt):
        _present(show, glimpses, fast=fast)
    record = learning(show.radio, show.listener, glimpses)
    click.echo("\n".join(summary_lines(record)))
    if figure_path is not None and glimpses:
        _draw_figure(record, figure_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Show:
    """A radio, the songs it plays and the listener it plays them to."""

    algorithm: str
    steps: int
    seed: int
    catalogue: SyntheticCatalogue
    radio: Recommender
    listener: StarListener

    @classmethod
    def drawn(cls, *, songs: int, steps: int, algorithm: str, seed: int) -> _Show:
        import numpy as np  # noqa: PLC0415

        from bandstand.algorithms.recommender import Recommender  # noqa: PLC0415
        from bandstand.simulation.catalogue import SyntheticCatalogue  # noqa: PLC0415
        from bandstand.simulation.listener import StarListener  # noqa: PLC0415

        for_songs, for_listener = np.random.default_rng(seed).spawn(2)
        catalogue = SyntheticCatalogue.drawn(songs, _FEATURES, for_songs)
        radio = Recommender(features=catalogue.features, algorithm=algorithm, seed=seed)
        return cls(
            algorithm=algorithm,
            steps=steps,
            seed=seed,
            catalogue=catalogue,
            radio=radio,
            listener=StarListener.drawn(radio.catalogue.features.shape[1], for_listener),
        )

    def glimpses(self) -> Iterator[Glimpse]:
        """Yield what is to be seen after each song."""
        from bandstand.simulation.clock import EVERYDAY  # noqa: PLC0415
        from bandstand.simulation.learning import watch  # noqa: PLC0415

        return watch(self.radio, self.listener, steps=self.steps, clock=EVERYDAY, seed=self.seed)

    def scene(self, glimpses: Sequence[Glimpse]) -> Scene:
        """Return what a picture shows after these glimpses."""
        from bandstand.reports.live_picture import Scene  # noqa: PLC0415

        return Scene(
            algorithm=self.algorithm,
            titles=self.catalogue.titles,
            artists=self.catalogue.artists,
            recovery_time=self.listener.recovery_time,
            total=self.steps,
            glimpses=glimpses,
        )


def _present(show: _Show, glimpses: list[Glimpse], *, fast: bool) -> None:
    """Play all songs and put each glimpse into `glimpses`; what is shown suits the output."""
    console = _terminal()
    if console is None:
        _present_lines(show, glimpses)
    else:
        _present_live(show, glimpses, console, fast=fast)


def _terminal() -> Console | None:
    """Return the terminal if there is one that the picture fits and can be drawn on."""
    # Asked of the stream itself, since a console may be told to treat a pipe as a terminal.
    if not sys.stdout.isatty():
        return None
    from rich.console import Console  # noqa: PLC0415

    from bandstand.reports.live_picture import LOWEST, NARROWEST  # noqa: PLC0415

    console = Console(highlight=False)
    fits = console.width >= NARROWEST and console.height >= LOWEST
    can_draw = not console.is_dumb_terminal and console.encoding.lower().startswith("utf")
    return console if fits and can_draw else None


def _present_lines(show: _Show, glimpses: list[Glimpse]) -> None:
    from bandstand.reports.learning_summary import progress_line  # noqa: PLC0415

    for glimpse in show.glimpses():
        glimpses.append(glimpse)
        if len(glimpses) % _LINE_EVERY == 0:
            click.echo(progress_line(glimpses))


def _present_live(show: _Show, glimpses: list[Glimpse], console: Console, *, fast: bool) -> None:
    """Draw on the terminal's second screen, and leave the last picture on the first."""
    from rich.live import Live  # noqa: PLC0415

    from bandstand.reports.live_picture import picture  # noqa: PLC0415

    pace = _Pace(steps=show.steps, fast=fast)
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            for glimpse in show.glimpses():
                glimpses.append(glimpse)
                if pace.is_time_to_draw(len(glimpses)):
                    scene = show.scene(glimpses)
                    width, height = console.size
                    live.update(
                        picture(scene, width=width, height=height, hint=_HINT), refresh=True
                    )
                pace.wait(len(glimpses))
    finally:
        if glimpses:
            width, height = console.size
            # Small enough for the summary to stand below it.
            console.print(picture(show.scene(glimpses), width=width, height=height - 5))
            console.print()


class _Pace:
    """Time as the person at the screen needs it: slow at first, then quick."""

    def __init__(self, *, steps: int, fast: bool) -> None:
        self._fast = fast
        self._quick = min(_QUICK_SECONDS / max(steps - _SLOW_SONGS, 1), _LONGEST_QUICK_SECONDS)
        self._steps = steps
        self._drawn = -_SECONDS_PER_PICTURE
        self._due = time.monotonic()

    def is_time_to_draw(self, number: int) -> bool:
        """Return whether the last picture is old enough, and remember that a new one is drawn."""
        now = time.monotonic()
        if now - self._drawn < _SECONDS_PER_PICTURE and number < self._steps:
            return False
        self._drawn = now
        return True

    def wait(self, number: int) -> None:
        """Wait until the next song is due; what could not be kept up with is not made up for."""
        if self._fast:
            return
        self._due += _SLOW_SECONDS if number <= _SLOW_SONGS else self._quick
        now = time.monotonic()
        if self._due > now:
            time.sleep(self._due - now)
        else:
            self._due = now


def _check_figure(path: Path) -> None:
    """Refuse, before anything is played, a figure that could not be drawn in the end."""
    if path.suffix.lower() != ".png":
        msg = f"--picture must end in .png, got {path.name!r}"
        raise InvalidInputError(msg)
    if not path.absolute().parent.is_dir():
        msg = f"--picture must be in a folder that is there, got {str(path.parent)!r}"
        raise InvalidInputError(msg)
    if find_spec("matplotlib") is None:
        msg = "--picture needs matplotlib; install bandstand[report]"
        raise BandstandError(msg)


def _draw_figure(record: Learning, path: Path) -> None:
    from bandstand.reports.learning_picture import save_learning_picture  # noqa: PLC0415

    save_learning_picture(record, path)
    click.echo(f"  picture               {path}")
