"""The findings of listening histories as text and tables on a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bandstand_lab.histories.findings import FEWEST_PLAYS
from bandstand_lab.histories.positions import printable

if TYPE_CHECKING:
    from bandstand.model.rank_frequency import Zipf
    from bandstand_lab.histories.findings import Findings, ListenerFindings
    from bandstand_lab.histories.recovery import Recovery
    from bandstand_lab.histories.values import Histories, Source

_UNITS: Final = (("s", 1.0), ("min", 60.0), ("h", 3_600.0), ("days", 86_400.0))
# The longest recovery that is looked for; songs go out of fashion in as long a time.
_LONGEST: Final = 43_200.0  # minutes


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    >>> [duration(x) for x in (12.0, 90.0, 5_400.0, 100_000.0, 864_000.0)]
    ['12 s', '1.5 min', '1.5 h', '28 h', '10 days']
    """
    unit, length = _UNITS[0]
    for name, each in _UNITS[1:]:
        if seconds >= (2 if name == "days" else 1) * each:
            unit, length = name, each
    count = seconds / length
    return f"{count:.0f} {unit}" if count >= 10 else f"{count:.2g} {unit}"


def percent(share: float) -> str:
    """Return a share in per cent.

    >>> percent(0.683), percent(0.004)
    ('68 %', '0.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or not share else f"{100 * share:.1f} %"


def repeat_words(findings: Findings) -> str:
    """Return how much of what was played had been played before."""
    shares = findings.repeat_shares
    if len(findings.listeners) == 1:
        return f"{percent(float(shares[0]))} of all plays are repeats."
    low, middle, high = np.quantile(shares, [0.25, 0.5, 0.75])
    text = (
        f"{percent(middle)} of a listener's plays are repeats (median of {len(shares)}; "
        f"quartiles {percent(low)} and {percent(high)})."
    )
    others = len(findings.listeners) - len(shares)
    few = f" {others} with fewer than {FEWEST_PLAYS} plays are not counted here."
    return text + (few if others else "")


def zipf_words(law: Zipf | None) -> str:
    """Return how the plays of songs fall with their rank."""
    if law is None:
        return "The songs are too few, or too equal, for a law of their plays."
    return (
        f"The song of rank k is played about k^-{law.exponent:.2f} times as often as the first "
        f"(R² = {law.r_squared:.2f} on logarithmic axes; Zipf's law has k^-1)."
    )


def gap_words(findings: Findings) -> str:
    """Return how long it takes until a song comes back."""
    if findings.gaps is None:
        return "No song was played twice."
    low, middle, high = (duration(float(findings.gaps.quantiles[place])) for place in (1, 2, 3))
    return f"A song that comes back does so after {middle} (median; quartiles {low} and {high})."


def skip_words(findings: Findings) -> str:
    """Return how often plays are cut short."""
    if findings.skips is None:
        return "The files do not tell how long plays lasted, so nothing is known of skips."
    told = [rate for rate in findings.skips.by_gap if rate.share is not None]
    parts = ", ".join(f"{rate.after} {percent(rate.share or 0.0)}" for rate in told)
    return (
        f"{percent(findings.skips.share)} of plays were skipped. By when the song had been played "
        f"before: {parts}."
    )


def recovery_words(suggested: Recovery | None, curve: str = "The curve") -> str:
    """Return what the gaps say about novelty; `curve` is what to call how likely repeats are."""
    if suggested is None:
        return "The repeats are too few to say how fast novelty recovers."
    low, high = suggested.interval
    if suggested.recovery_time is not None:
        return (
            "A song is less likely soon after its play than later: its novelty recovers as "
            f"1 - exp(-t/s) with s = {duration(60 * suggested.recovery_time)} "
            f"(95 %: {duration(60 * low)} to {_at_most(high)})."
        )
    if high >= _LONGEST:
        return "The gaps do not tell how fast novelty recovers: it may be minutes or weeks."
    return (
        f"{curve} shows no rest after a play that is longer than about {duration(60 * high)} "
        "(s of 1 - exp(-t/s), 97.5 %), under the assumed slow decline."
    )


def recovery_summary(findings: Findings) -> str:
    """Return what the gaps say about novelty, and for how many listeners on their own."""
    is_one = len(findings.listeners) == 1
    text = recovery_words(findings.recovery, "The curve" if is_one else "The pooled curve")
    own = [each.recovery for each in findings.listeners if each.recovery is not None]
    if is_one or not own:
        return text
    seen = [each.recovery_time for each in own if each.recovery_time is not None]
    if not seen:
        return f"{text} Of {len(own)} with enough repeats, none shows a rest on their own."
    middle = duration(60 * float(np.median(seen)))
    return (
        f"{text} Listeners differ: on their own, {len(seen)} of {len(own)} show a rest, of "
        f"median s {middle}; some do by chance."
    )


def recovery_cell(suggested: Recovery | None) -> str:
    """Return the same for a column of a table."""
    if suggested is None:
        return "–"
    low, high = suggested.interval
    if suggested.recovery_time is not None:
        return f"{duration(60 * suggested.recovery_time)} ({duration(60 * low)}–{_at_most(high)})"
    return "?" if high >= _LONGEST else f"< {duration(60 * high)}"


def _at_most(minutes: float) -> str:
    return "more than a month" if minutes >= _LONGEST else duration(60 * minutes)


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
        zipf_words(findings.zipf),
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
