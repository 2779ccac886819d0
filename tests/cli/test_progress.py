import io
import re
from collections.abc import Callable
from contextlib import redirect_stderr

import pytest

from bandstand.cli import _progress as progress
from bandstand.cli._progress import counting
from tests.fixtures.cli.run_command import python_apart


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True

    @property
    def seen(self) -> str:
        """What was written, without what moves the cursor or gives colours."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue())


@pytest.fixture(autouse=True)
def _kind_of_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a way to let time pass."""
    clock = [1_000.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def pass_by(seconds: float) -> None:
        clock[0] += seconds

    return pass_by


# ── On a terminal ────────────────────────────────────────────────────────────────────────


def test_a_bar_shows_how_many_how_fast_and_how_long() -> None:
    with redirect_stderr(Terminal()) as terminal, counting("Scanning") as show:
        for done in range(1, 51):
            show(done, 200)
    assert "Scanning" in terminal.seen
    assert "50/200" in terminal.seen
    assert "files/s" in terminal.seen
    assert terminal.seen.rstrip().endswith("left")


@pytest.mark.parametrize(
    ("steps", "words"), [([(10, 10), (11, 12)], "11/12"), ([(0, 0)], "0/0"), ([], "Scanning")]
)
def test_a_bar_may_grow_and_there_may_be_nothing_to_do(
    steps: list[tuple[int, int]], words: str
) -> None:
    with redirect_stderr(Terminal()) as terminal, counting("Scanning") as show:
        for done, total in steps:
            show(done, total)
    assert words in terminal.seen


def test_the_cursor_comes_back_when_the_work_fails() -> None:
    terminal = Terminal()

    def fail() -> None:
        with redirect_stderr(terminal), counting("Scanning") as show:
            show(1, 2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert terminal.getvalue().rstrip().endswith("\x1b[?25h")


# ── Elsewhere ────────────────────────────────────────────────────────────────────────────


def test_work_that_is_soon_done_says_nothing(
    capsys: pytest.CaptureFixture[str], wait: Callable[[float], None]
) -> None:
    with counting("Scanning") as show:
        for done in range(100):
            wait(0.125)
            show(done, 100)
    assert capsys.readouterr() == ("", "")


def test_long_work_says_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str], wait: Callable[[float], None]
) -> None:
    with counting("Scanning") as show:
        for done in range(1, 961):
            wait(0.125)
            show(done, 2_400)
    out, err = capsys.readouterr()
    assert not out
    lines = err.splitlines()
    assert len(lines) == 120 // progress._LINE_EVERY
    assert lines[0] == "Scanning: 240 of 2,400, 8.0 files/s, 270 s left"


def test_a_line_about_nothing_done_is_no_error(
    capsys: pytest.CaptureFixture[str], wait: Callable[[float], None]
) -> None:
    with counting("Scanning") as show:
        wait(31)
        show(0, 2_400)
    assert capsys.readouterr().err == "Scanning: 0 of 2,400\n"


def test_rich_is_not_imported_without_a_terminal() -> None:
    program = (
        "import sys; from bandstand.cli._progress import counting\n"
        "with counting('x') as show: show(1, 2)\n"
        "print('rich' in sys.modules)"
    )
    assert python_apart(b"", "-c", program) == (0, "False\n", "")
