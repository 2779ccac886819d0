"""Listening histories on a screen: what was read, each listener, and what it amounts to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bandstand_lab.histories.places import printable
from bandstand_lab.histories.words import (
    duration,
    gap_words,
    percent,
    recovery_cell,
    recovery_summary,
    repeat_words,
    skip_words,
    zipf_words,
)

if TYPE_CHECKING:
    from bandstand_lab.histories.findings import Findings, ListenerFindings
    from bandstand_lab.histories.values import Histories, Source

_WIDTH_OF_FILES: Final = 120
_MOST_ROWS: Final = 20


def print_tables(histories: Histories, findings: Findings, console: Console | None = None) -> None:
    """Print everything; of very many files or listeners the first."""
    screen = console or Console(highlight=False)
    if not screen.is_terminal:
        screen.width = max(screen.width, _WIDTH_OF_FILES)
    screen.print(_sources_table(histories))
    for line in _account(histories):
        screen.print(line, soft_wrap=True)
    screen.print(_listeners_table(findings))
    for words in (
        repeat_words(findings),
        zipf_words(findings),
        gap_words(findings),
        skip_words(findings),
        recovery_summary(findings),
    ):
        screen.print(f"• {words}", soft_wrap=True)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)


def _sources_table(histories: Histories) -> Table:
    table = _table("What was read")
    table.add_column("file", overflow="fold")
    table.add_column("format")
    table.add_column("plays", justify="right")
    table.add_column("left out")
    for source in histories.sources[:_MOST_ROWS]:
        table.add_row(
            escape(printable(source.name)), source.format, f"{source.plays:,}", _left_out(source)
        )
    rest = histories.sources[_MOST_ROWS:]
    if rest:
        plays = sum(source.plays for source in rest)
        lost = sum(reason.count for source in rest for reason in source.left_out)
        table.add_row(f"and {len(rest)} more", "", f"{plays:,}", f"{lost:,}" if lost else "")
    return table


def _left_out(source: Source) -> str:
    return "\n".join(
        f"{each.count:,} {each.reason} (first: {each.first})" for each in source.left_out
    )


def _account(histories: Histories) -> list[str]:
    lines = []
    if histories.duplicates:
        lines.append(f"{histories.duplicates:,} plays are in more than one file: counted once.")
    if histories.ignored:
        names = ", ".join(name.rsplit(":", 1)[-1] for name in histories.ignored[:5])
        more = " …" if len(histories.ignored) > 5 else ""
        lines.append(
            f"{len(histories.ignored)} files of the archives are no histories: "
            f"{escape(names)}{more}"
        )
    return [*lines, *(escape(printable(note)) for note in histories.notes)]


def _listeners_table(findings: Findings) -> Table:
    table = _table("Listeners")
    table.add_column("listener", overflow="fold")
    for name in ("plays", "songs", "days", "repeats", "exponent", "R²"):
        table.add_column(name, justify="right")
    table.add_column("median gap", justify="right")
    table.add_column("skips", justify="right")
    table.add_column("novelty's recovery")
    for each in findings.listeners[:_MOST_ROWS]:
        table.add_row(*_cells(each))
    others = len(findings.listeners) - _MOST_ROWS
    if others > 0:
        table.add_row(f"and {others} more", *[""] * 9)
    return table


def _cells(each: ListenerFindings) -> list[str]:
    return [
        escape(printable(each.name)),
        f"{each.plays:,}",
        f"{each.songs:,}",
        f"{each.days:,.0f}",
        percent(each.repeat_share),
        "–" if each.zipf is None else f"{each.zipf.exponent:.2f}",
        "–" if each.zipf is None else f"{each.zipf.r_squared:.2f}",
        "–" if each.gaps is None else duration(each.gaps.median),
        "–" if each.skips is None else percent(each.skips.share),
        recovery_cell(each.recovery),
    ]
