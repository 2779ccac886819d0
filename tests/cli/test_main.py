import errno
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

import bandstand.cli
from bandstand import __version__
from bandstand.cli import COMMANDS
from bandstand.errors import ConvergenceError, InvalidInputError, NotFittedError
from tests.fixtures.child_processes import started
from tests.fixtures.cli.files import Files
from tests.fixtures.cli.run_command import (
    assert_refused,
    environment,
    python_apart,
    run,
    run_apart,
)

# ── Help and versions ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("args", [[], ["--help"], ["-h"]])
def test_help_lists_every_command_with_what_it_does(args: list[str]) -> None:
    code, out, err = run(*args)
    assert (code, err) == (0, "")
    lines = out.split("Commands:\n")[1].splitlines()
    assert [line.split(maxsplit=1)[0] for line in lines] == sorted(COMMANDS)
    assert all(len(line.split()) > 3 and line.endswith(".") for line in lines)


def test_the_version_is_the_package_s() -> None:
    assert run("--version") == (0, f"bandstand {__version__}\n", "")


def test_help_waits_for_nothing_heavy() -> None:
    program = (
        "import sys; from bandstand.cli import main; main(['--help']);"
        "main(['recommend', '--help']); main(['history', '--help']); print(*sys.modules)"
    )
    modules = python_apart(b"", "-c", program).out.split()
    assert {"numpy", "scipy", "rich", "matplotlib"}.isdisjoint(modules)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_listed_command_is_there_and_has_help(name: str) -> None:
    code, out, err = run(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: bandstand {name} ")


def test_the_package_runs_as_a_module() -> None:
    assert run_apart("--version") == (0, f"bandstand {__version__}\n", "")


# ── What goes wrong ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Return a way to make the command `fail` raise something."""

    def install(problem: BaseException) -> None:
        @click.command
        def fail() -> None:
            raise problem

        monkeypatch.setattr(bandstand.cli.bandstand, "get_command", lambda *_: fail)

    return install


@pytest.mark.parametrize(
    ("problem", "code", "sentence"),
    [
        (InvalidInputError("it must be 1, got 2"), 2, "it must be 1, got 2"),
        (NotFittedError("fit first"), 1, "fit first"),
        (ConvergenceError("did not settle"), 1, "did not settle"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (OSError("odd"), 1, "odd"),
        (UnicodeError("odd letters"), 1, "UnicodeError: odd letters"),
        (MemoryError(), 1, "the work needs more memory than there is"),
        (RuntimeError("one line\nand another"), 1, "RuntimeError: one line and another"),
    ],
)
def test_a_problem_becomes_one_sentence_and_an_exit_code(
    failing: Callable[[BaseException], None], problem: Exception, code: int, sentence: str
) -> None:
    failing(problem)
    outcome = run("fail")
    assert_refused(outcome, code=code)
    assert outcome.err.removeprefix("Error: ").strip().endswith(sentence)


def test_an_interrupt_ends_quietly_with_130(failing: Callable[[BaseException], None]) -> None:
    failing(KeyboardInterrupt())
    code, out, err = run("fail")
    assert (code, out, err.strip()) == (130, "", "")


def test_a_mistake_of_ours_shows_where_it_is_only_in_development_mode() -> None:
    program = (
        "import sys, bandstand.cli as cli\n"
        "def broken(*_): raise ZeroDivisionError('oh')\n"
        "cli.bandstand.get_command = broken\n"
        "sys.exit(cli.main(['fail']))"
    )
    for options, shown in (([], False), (["-X", "dev"], True)):
        outcome = python_apart(b"", *options, "-c", program)
        assert outcome.code == 1
        assert ("Traceback" in outcome.err) == shown


def test_an_unknown_command_is_refused() -> None:
    assert_refused(run("fly"), "fly")


def test_a_reader_that_goes_away_is_no_error(files: Files) -> None:
    rows = "".join(f"i{row},{row % 7},{row % 5}\n" for row in range(20_000))
    files.write(items=f"id,a,b\n{rows}", history="item_id,time,rating\n")
    with started(
        [sys.executable, "-m", "bandstand", *files.arguments("--algorithm", "random")],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("id ")
        process.stdout.close()
        assert not process.stderr.read()


# ── The surroundings ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("chosen", "used"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2"), ({"OMP_NUM_THREADS": "2"}, "")],
)
def test_matrices_get_one_thread_unless_the_user_chose(chosen: dict[str, str], used: str) -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    program = (
        f"import os\nfor name in {names} : os.environ.pop(name, None)\n"
        f"os.environ.update({chosen})\n"
        "from bandstand.cli import main; main(['--version'])\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS', ''))"
    )
    assert python_apart(b"", "-c", program).out.splitlines()[1:] == ([used] if used else [""])


def test_letters_that_the_output_cannot_show_do_not_stop_it(files: Files) -> None:
    files.write(items="id,a\n音,2\n", history="item_id,time,rating\n")
    arguments = files.arguments("--algorithm", "random")
    code, out, err = run_apart(*arguments, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (code, err) == (0, "")
    assert "\\u97f3" in out
