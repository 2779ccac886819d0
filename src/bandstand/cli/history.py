"""`bandstand history`: histories of other services, imported or only measured."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from bandstand._util.words import printable
from bandstand.cli import Command, LazyGroup
from bandstand.cli._options import named_account, opened_store, require_store, store_option
from bandstand.cli._tables import print_table

if TYPE_CHECKING:
    from collections.abc import Mapping

_MEASURE: Final = "analyse"
_HOMES: Final = {
    _MEASURE: Command(
        "bandstand_lab.cli.history:analyse", "Measure how often songs come back; also without it."
    ),
    "warm-start": Command(
        "bandstand_lab.cli.history:warm_start_", "Measure what a radio gains by an import."
    ),
}
_user: Final = click.option("--user", required=True, metavar="NAME", help="Whose radio it is.")


class _HistoryGroup(LazyGroup):
    """A group where anything but the name of a command is a file to be measured."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments that are left after the group's own."""
        is_file = bool(args) and args[0] not in {*self.list_commands(ctx), *ctx.help_option_names}
        return super().parse_args(ctx, [_MEASURE, *args] if is_file else args)


@click.group(cls=_HistoryGroup, homes=_HOMES)
def history() -> None:
    """Import listening histories into a radio, or measure what is in them.

    `bandstand history FILE...` measures how often songs come back; the radio learns nothing of it.
    """


@history.command("import", short_help="Teach a radio what was heard and rated elsewhere.")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@_user
@click.option("--listener", metavar="NAME", help="Whose plays, of a file with several people's.")
@store_option
def import_(*, files: tuple[Path, ...], user: str, listener: str | None, store: str | None) -> None:
    """Teach a radio what was heard and rated elsewhere.

    FILE is an export of Spotify (both kinds), Last.fm or ListenBrainz, the database of Navidrome, a
    library of iTunes (XML), or a CSV file with artist, track and time; also compressed (.gz), or an
    archive (.zip). Songs are found by MusicBrainz recording, or artist and title. The same plays in
    several files count once, and `undo` takes an import back.
    """
    from bandstand._util.clock import system_clock
    from bandstand.music.histories.matching import Library
    from bandstand.music.histories.reading import read_history
    from bandstand.store.events import imports
    from bandstand.store.songs import songs

    require_store(store)
    with opened_store(store) as opened:
        with opened.reading(limit=None) as connection:
            account = named_account(connection, user)
            library = Library(songs.facts(connection))
        segment = read_history(files, library, now=system_clock(), listener=listener)
        with opened.writing() as connection:
            appended = imports.save(connection, account.id, segment, now=system_clock())
    _print(segment.report)
    number = appended.event.seq
    if appended.is_new:
        click.echo(f"This is import {number}; `bandstand history undo {number}` takes it back.")
    else:
        click.echo(f"Import {number} is the same; nothing was added.")


@history.command()
@_user
@store_option
def imports(*, user: str, store: str | None) -> None:
    """List the imports that count."""
    from bandstand.store.events import imports as kept

    require_store(store)
    with opened_store(store) as opened, opened.reading() as connection:
        found = kept.all_of(connection, named_account(connection, user).id)
    if not found:
        click.echo("Nothing was imported.")
        return
    rows = [
        (
            f"{each.seq}",
            datetime.fromtimestamp(each.at / 1_000, tz=UTC).strftime("%Y-%m-%d"),
            f"{each.report['matched']:,}",
            f"{each.report['songs']:,}",
            ", ".join(dict.fromkeys(file["format"] for file in each.report["files"])),
        )
        for each in found
    ]
    print_table(("import", "made", "plays", "songs", "from"), rows, framed=False)


@history.command()
@click.argument("number", metavar="ID", type=int)
@_user
@store_option
def undo(*, number: int, user: str, store: str | None) -> None:
    """Take an import back: the radio is as if it had never been."""
    from bandstand._util.clock import system_clock
    from bandstand.store.events import imports as kept

    require_store(store)
    with opened_store(store) as opened, opened.writing() as connection:
        account = named_account(connection, user)
        kept.undo(connection, account.id, number, now=system_clock())
    click.echo(f"Import {number} is taken back.")


_WAYS: Final = {
    "mbid": "by MusicBrainz recording",
    "name": "by artist and title",
    "version": "as another version of the song",
}


def _print(report: Mapping[str, Any]) -> None:
    """Print what was read, what was found of it, and what was not, with examples."""
    rows = [
        (printable(file["name"]), file["format"], f"{file['read']:,}") for file in report["files"]
    ]
    print_table(("file", "format", "entries"), rows[:20], framed=False)
    click.echo(f"\n{report['matched']:,} of {report['read']:,} are of {report['songs']:,} songs.")
    for way, count in report["ways"].items():
        click.echo(f"  {count:,} {_WAYS[way]}")
    left_out: dict[str, int] = {}
    for file in report["files"]:
        for reason, count in file["left_out"].items():
            left_out[reason] = left_out.get(reason, 0) + count
    for reason, count in left_out.items():
        click.echo(f"  {count:,} left out: {reason}")
    for each in report["unmatched"]:
        click.echo(f"  {each['plays']:,} {each['reason']} ({each['songs']:,} songs), such as")
        for name in each["examples"]:
            click.echo(f"    {printable(name)}")
