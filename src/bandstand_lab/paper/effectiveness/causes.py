"""Why the variational radio loses where it does: one thing is changed at a time.

Three suspects: the start of its search (the bound has several peaks), the quantile (an integral
here, draws in the paper), and the scale of its prior (D0, E0). Every change is tried in every
world on the same listeners, so that the text follows from the numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bandstand_lab.paper import orders
from bandstand_lab.paper.effectiveness.design import GREEDY, PLACES, VARIATIONAL
from bandstand_lab.paper.effectiveness.variants import VARIANTS
from bandstand_lab.report.figures import look_of
from bandstand_lab.report.study import Table

if TYPE_CHECKING:
    from bandstand_lab.paper.effectiveness.design import Place
    from bandstand_lab.paper.effectiveness.outcome import Outcome
    from bandstand_lab.paper.orders import Cell
    from bandstand_lab.report.study import Cell as TableCell

SUSPECTS: Final = ("start", "quantile", "prior scale")


def effects(outcome: Outcome, place: Place) -> dict[str, Cell]:
    """Return each variant's regret against that of the unchanged radio, in one world."""
    pairs = [outcome.variant_pair(place, name, VARIATIONAL) for name in VARIANTS]
    return dict(zip(VARIANTS, orders.cells(pairs), strict=True))


def lost(outcome: Outcome) -> list[Place]:
    """Return the worlds where the variational radio is not below greedy in the mean."""
    looks = len(outcome.design.looks)
    cells = orders.cells(outcome.pairs(VARIATIONAL, GREEDY))
    each = [cells[start : start + looks] for start in range(0, len(cells), looks)]
    return [
        place for place, found in zip(PLACES, each, strict=True) if not all(c.seen for c in found)
    ]


def in_words(outcome: Outcome) -> str:
    """Return what the experiments say about the three suspects."""
    trouble = lost(outcome)
    if trouble:
        return " ".join(_accused(outcome, place) for place in trouble)
    return (
        "It is below greedy in the mean in every world, so there is no loss to explain. What "
        "changing its parts does to its regret all the same, over all worlds: "
        f"{orders.listed([_reach(outcome, suspect) for suspect in SUSPECTS])}."
    )


def _accused(outcome: Outcome, place: Place) -> str:
    """Return which changes mend the loss in one world."""
    found = effects(outcome, place)
    helps = [
        f"{VARIANTS[name].label} ({VARIANTS[name].suspect}: {_change(cell)}, "
        f"{orders.p_words(cell.corrected)})"
        for name, cell in found.items()
        if cell.confirmed
    ]
    cleared = [
        suspect
        for suspect in SUSPECTS
        if not any(c.confirmed for name, c in found.items() if VARIANTS[name].suspect == suspect)
    ]
    design = outcome.design
    start = (
        f"Where it is not below greedy ({place.label}; looked into over the first "
        f"{design.variant_steps} songs of {design.variant_listeners} listeners), "
    )
    if not helps:
        best = min(found, key=lambda name: found[name].ratio)
        return (
            f"{start}no change of {orders.listed(SUSPECTS)} lowers its regret significantly; the "
            f"most is {_change(found[best])} ({VARIANTS[best].label})."
        )
    rest = f"; {orders.listed(cleared)} makes no significant difference" if cleared else ""
    return f"{start}its regret falls with {orders.listed(helps)}{rest}."


def _reach(outcome: Outcome, suspect: str) -> str:
    """Return the smallest and the largest effect of the changes of one suspect."""
    cells = [
        cell
        for place in PLACES
        for name, cell in effects(outcome, place).items()
        if VARIANTS[name].suspect == suspect
    ]
    ratios = [100 * (cell.ratio - 1) for cell in cells]
    significant = sum(cell.confirmed or cell.contradicted for cell in cells)
    return (
        f"{suspect} {min(ratios):+.0f} to {max(ratios):+.0f} % "
        f"({significant} of {len(cells)} significant)"
    )


def _change(cell: Cell) -> str:
    return f"{100 * (cell.ratio - 1):+.0f} %"


def table(outcome: Outcome) -> Table:
    """Return every change with its effect in every world."""
    rows: list[tuple[TableCell, ...]] = []
    for place in PLACES:
        greedy = outcome.variant_pair(place, VARIATIONAL, GREEDY)
        base = look_of(VARIATIONAL).label
        rows.append((place.label, "", f"{base}, unchanged", float(greedy.lower.mean()), None, None))
        for name, cell in effects(outcome, place).items():
            variant = VARIANTS[name]
            rows.append(
                (
                    place.label,
                    variant.suspect,
                    variant.label,
                    cell.lower_mean,
                    100 * (cell.ratio - 1),
                    cell.corrected,
                )
            )
        label = look_of(GREEDY).label
        rows.append((place.label, "", label, float(greedy.upper.mean()), None, None))
    design = outcome.design
    return Table(
        title="The variational radio with one thing changed at a time",
        columns=("world", "suspect", "change", "regret", "against unchanged, %", "p (Holm)"),
        rows=tuple(rows),
        note=f"After {design.variant_steps} songs, {design.variant_listeners} listeners; "
        "the p-values of one world are corrected together.",
    )
