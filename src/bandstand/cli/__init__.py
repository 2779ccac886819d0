"""The command line: `bandstand COMMAND …`, one file per command.

A command is imported when it is called, so that `bandstand --help` costs next to nothing.
What goes wrong becomes one sentence on standard error and an exit code:

2    the input cannot be used: the sentence says what was expected and what came
1    the work failed
130  interrupted

To add a command, write it as a click command in a file of its own and add one line to
`COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from bandstand import __version__
from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# What the libraries below numpy read, once, when it is imported.
_THREADS: Final = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Command(NamedTuple):
    """A command that is not imported yet."""

    home: str  # module:attribute
    summary: str  # here as well, so that the list of commands imports none of them


class LazyGroup(click.Group):
    """A group that imports the commands in `homes` when they are called.

    A command may live in a package that its group must not import: the lab's do.
    """

    def __init__(self, *args: Any, homes: Mapping[str, Command], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._homes = homes

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *self._homes})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name from its home module."""
        if cmd_name not in self._homes:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._homes[cmd_name].home.split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what each command does."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(name)) for name in self.list_commands(ctx)])

    def _summary(self, name: str) -> str:
        if name in self._homes:
            return self._homes[name].summary
        return self.commands[name].get_short_help_str(limit=80)


COMMANDS: Final = {
    "backup": Command("bandstand.cli.backup:backup", "Write a safety copy of the store."),
    "bench": Command("bandstand_lab.cli.bench:bench", "Measure speed, as ratios to references."),
    "demo": Command("bandstand.cli.demo:demo", "Try the radio with music that it composes itself."),
    "export": Command("bandstand.cli.export:export", "Write the store as lines of JSON."),
    "features": Command(
        "bandstand.cli.features:features", "Write the 159 raw descriptors of audio files."
    ),
    "history": Command(
        "bandstand.cli.history:history", "Import listening histories, or measure what is in them."
    ),
    "import": Command("bandstand.cli.import_:import_", "Read an export into an empty store."),
    "playlist": Command(
        "bandstand.cli.playlist:playlist", "Write the next songs for a listener as a playlist."
    ),
    "priors": Command(
        "bandstand_lab.cli.priors:priors",
        "Estimate how people differ, from many people's ratings.",
    ),
    "rebuild": Command(
        "bandstand.cli.rebuild:rebuild", "Rebuild what is derived from the listeners' logs."
    ),
    "recommend": Command(
        "bandstand.cli.recommend:recommend", "Rank the items of a CSV file for one listener."
    ),
    "reproduce": Command(
        "bandstand_lab.cli.reproduce:reproduce",
        "Run every study of the paper and write one report.",
    ),
    "restore": Command("bandstand.cli.restore:restore", "Make a store of a backup."),
    "scan": Command("bandstand.cli.scan:scan", "Analyse the music below folders into the store."),
    "serve": Command("bandstand.cli.serve:serve", "Play music to all who may log in."),
    "similar": Command("bandstand.cli.similar:similar", "List the songs nearest to one."),
    "simulate": Command(
        "bandstand_lab.cli.simulate:simulate", "Compare algorithms on simulated listeners."
    ),
    "study": Command(
        "bandstand.cli.study:study", "Compare algorithms blindly with people, and report it."
    ),
    "user": Command("bandstand.cli.user:user", "Add, list, change and remove accounts."),
    "verify": Command("bandstand.cli.verify:verify", "Check that the store is whole."),
}


@click.group(
    cls=LazyGroup,
    homes=COMMANDS,
    no_args_is_help=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def bandstand(ctx: click.Context) -> None:
    """Bandstand, a radio that learns your taste."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Return the exit code of `bandstand ARGS…`; by default those of the process."""
    _one_thread_for_small_matrices()
    _print_anything(sys.stdout)
    try:
        # Without click's own ending, which takes several lines to say what is wrong.
        code = bandstand.main(args=args, prog_name="bandstand", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception as problem:
        if sys.flags.dev_mode and not isinstance(problem, click.ClickException | BandstandError):
            raise  # python -X dev -m bandstand … shows where our mistake is
        code, message = _code_and_message(problem)
        click.echo(f"Error: {' '.join(message.splitlines())}", err=True)
    return code if isinstance(code, int) else 0


def _code_and_message(problem: Exception) -> tuple[int, str]:
    """Return the exit code and the sentence for something that went wrong."""
    match problem:
        case click.ClickException():
            return problem.exit_code, problem.format_message()
        case InvalidInputError():
            return 2, str(problem)
        case BandstandError():
            return 1, str(problem)
        case MemoryError():
            return 1, "the work needs more memory than there is"
        case OSError(strerror=str(reason)):
            return 1, reason
        case _:
            return 1, f"{type(problem).__name__}: {problem}"


def _one_thread_for_small_matrices() -> None:
    """Let numpy use one thread, unless the user has chosen: more are slower here."""
    if not any(name in os.environ for name in _THREADS):
        os.environ.update(dict.fromkeys(_THREADS, "1"))


def _print_anything(stream: object) -> None:
    """Write letters that the output cannot show as escapes."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
