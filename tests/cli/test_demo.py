"""`bandstand demo` as a person meets it: in a terminal, in a pipe, and interrupted."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from bandstand.algorithms.registry import DEFAULT
from bandstand.cli.demo import demo
from bandstand.simulation import learning
from tests.cli.running import Outcome, assert_refused, environment, run, run_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bandstand.simulation.learning import Glimpse

SHORT = ("demo", "--fast", "--songs", "30", "--steps", "25")
ALTERNATE_SCREEN = "\x1b[?1049h"


# ── In a pipe ────────────────────────────────────────────────────────────────────────────


def test_in_a_pipe_it_prints_plain_lines_and_the_summary() -> None:
    code, out, err = run(*SHORT)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    progress, head, *rest = out.splitlines()
    assert progress.startswith(" 20 songs: the last 20 got ")
    assert head.startswith("After 25 songs, ")
    assert [line.split()[0] for line in rest] == ["mean", "recovery", "liking"]


def test_a_pipe_gets_no_escape_codes_even_where_colours_are_forced() -> None:
    code, out, err = run_apart(*SHORT, FORCE_COLOR="1", CLICOLOR_FORCE="1")
    assert (code, err) == (0, "")
    assert "\x1b" not in out


def test_the_same_seed_shows_the_same_and_another_seed_another_listener() -> None:
    assert run(*SHORT) == run(*SHORT)
    assert run(*SHORT).out != run(*SHORT, "--seed", "2").out


@pytest.mark.parametrize("seed", range(1, 6))
def test_bandstand_is_liked_better_than_random_songs(seed: int) -> None:
    _, out, _ = run("demo", "--fast", "--songs", "100", "--steps", "60", "--seed", str(seed))
    bandstand, random, best = map(float, re.findall(r"\d\.\d", out.splitlines()[-3]))
    assert random + 0.4 < bandstand < best + 0.2


# ── In a terminal ────────────────────────────────────────────────────────────────────────


def run_in_terminal(*args: str, columns: int = 80, interrupt_at: str = "") -> Outcome:
    """Run the command in a terminal of its own; press Ctrl-C once something is to be seen."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    variables = environment(TERM="xterm-256color", PYTHONIOENCODING="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "bandstand", *args],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # The terminal has its own size, whatever the test runner says of its.
        env={name: each for name, each in variables.items() if name not in {"COLUMNS", "LINES"}},
        start_new_session=True,
    )
    os.close(theirs)
    text = "".join(_pieces(ours, process, interrupt_at))
    os.close(ours)
    return Outcome(process.wait(), text, "")


def _pieces(terminal: int, process: subprocess.Popen[bytes], interrupt_at: str) -> Iterator[str]:
    seen = ""
    while True:
        try:
            piece = os.read(terminal, 65_536)
        except OSError:  # how Linux says that the other end is closed
            return
        if not piece:
            return
        text = piece.decode("utf-8", errors="ignore")
        seen += text
        if interrupt_at and interrupt_at in seen:
            process.send_signal(signal.SIGINT)
            interrupt_at = ""
        yield text


def test_in_a_terminal_it_draws_the_picture_and_leaves_it_with_the_summary() -> None:
    code, out, _ = run_in_terminal(*SHORT)
    assert code == 0
    assert ALTERNATE_SCREEN in out
    live, left = out.rsplit("\x1b[?1049l", maxsplit=1)
    assert "Ctrl-C ends it" in live
    assert "Ctrl-C" not in left
    assert "song 25 of 25" in left
    assert "After 25 songs, " in left
    assert left.count("\n") < 24
    # A screen that is cleared between two pictures flickers.
    assert out.count("\x1b[2J") <= 1


def test_ctrl_c_ends_it_politely_with_the_summary() -> None:
    code, out, _ = run_in_terminal("demo", "--songs", "30", interrupt_at="song 2 of 200")
    assert code == 0
    assert "Traceback" not in out
    assert re.search(r"After \d+ songs, ", out.rsplit("\x1b[?1049l", maxsplit=1)[1])


def test_a_terminal_that_is_too_small_gets_plain_lines() -> None:
    code, out, _ = run_in_terminal(*SHORT, columns=79)
    assert code == 0
    assert "\x1b" not in out
    assert "After 25 songs, " in out


# ── Interrupted ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("songs", [0, 3])
def test_an_interruption_ends_with_what_was_learnt_so_far(
    songs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch: Callable[..., Iterator[Glimpse]] = learning.watch

    def interrupted(*args: object, **settings: object) -> Iterator[Glimpse]:
        session = watch(*args, **settings)
        for _ in range(songs):
            yield next(session)
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "watch", interrupted)
    code, out, err = run(*SHORT)
    assert (code, err) == (0, "")
    assert out.startswith("After 3 songs, " if songs else "Ended before the first song.")


# ── Options ──────────────────────────────────────────────────────────────────────────────


def test_the_default_algorithm_is_the_package_s() -> None:
    defaults = {option.name: option.default for option in demo.params}
    assert defaults["algorithm"] == DEFAULT


def test_an_algorithm_can_be_chosen() -> None:
    code, out, _ = run(*SHORT, "--algorithm", "linucb-c")
    assert code == 0
    assert "not learnt" in out


def test_the_picture_is_written(tmp_path: Path) -> None:
    place = tmp_path / "learning.png"
    code, out, err = run(*SHORT, "--picture", place)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1].endswith(str(place))
    assert place.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_algorithm_is_refused() -> None:
    assert_refused(run("demo", "--algorithm", "magic"), "bayes-ucb-cn-x", "got 'magic'")


@pytest.mark.parametrize(
    ("option", "value"), [("--songs", "9"), ("--steps", "0"), ("--seed", "-1"), ("--songs", "x")]
)
def test_a_number_out_of_range_is_refused(option: str, value: str) -> None:
    assert_refused(run("demo", option, value), option)


def test_a_picture_that_could_not_be_written_is_refused_before_anything_is_played(
    tmp_path: Path,
) -> None:
    assert_refused(run("demo", "--picture", tmp_path / "a.gif"), "must end in .png, got 'a.gif'")
    assert_refused(run("demo", "--picture", tmp_path / "no" / "a.png"), "a folder that is there")
    (tmp_path / "folder.png").mkdir()
    assert_refused(run("demo", "--picture", tmp_path / "folder.png"), "--picture")


def test_without_matplotlib_the_picture_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("bandstand.cli.demo.find_spec", lambda _: None)
    outcome = run("demo", "--picture", tmp_path / "a.png")
    assert_refused(outcome, "needs matplotlib", "bandstand[report]", code=1)


def test_help_waits_for_nothing_heavy() -> None:
    program = (
        "import sys; from bandstand.cli import main; main(['demo', '--help']); print(*sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert {"numpy", "scipy", "rich", "matplotlib"}.isdisjoint(out.split())


# ── Pace ─────────────────────────────────────────────────────────────────────────────────


def total_pause(monkeypatch: pytest.MonkeyPatch, *args: str) -> float:
    """Return how many seconds a run of the command would have waited, on a clock of our own."""
    from bandstand.cli.demo import _Pace  # noqa: PLC0415

    now = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(time, "sleep", sleep)
    steps = int(args[0])
    pace = _Pace(steps=steps, fast="--fast" in args)
    for number in range(1, steps + 1):
        pace.is_time_to_draw(number)
        pace.wait(number)
    return now


def test_the_default_takes_about_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 20 < total_pause(monkeypatch, "200") < 30


def test_a_long_session_takes_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 20 < total_pause(monkeypatch, "5000") < 30


def test_fast_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert total_pause(monkeypatch, "200", "--fast") == 0
