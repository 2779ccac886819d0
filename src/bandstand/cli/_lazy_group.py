"""A group of commands, each imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


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
