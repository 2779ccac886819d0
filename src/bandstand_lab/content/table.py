"""The comparison in words and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand_lab.content.predictors import LABELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_lab.content.comparison import Compared, Comparison
    from bandstand_lab.statistics.summaries import MeanEstimate

_HEADER = ("prediction", "RMSE", "± s.e.", "explained")
_DIFFERENCES = ("content model minus", "mean", "95 % interval", "p (Holm)", "better for")


def described(comparison: Comparison, *, parts: int, seed: int) -> str:
    """Return the whole comparison as text for a screen."""
    count = len(comparison.raters)
    ratings = sum(rater.count for rater in comparison.raters)
    head = (
        f"{ratings:,} ratings of {count:,} {'rater' if count == 1 else 'raters'}, "
        f"{parts} folds, seed {seed}"
    )
    tables = [_errors(comparison)]
    if differences := comparison.against_rivals():
        tables.append(_columns([_DIFFERENCES, *(_cells(each, count) for each in differences)], 1))
    return "\n\n".join([head, *tables, summary(comparison)])


def summary(comparison: Comparison) -> str:
    """Return in a sentence or two what the comparison says."""
    content, mean = comparison.estimate("content").mean, comparison.estimate("mean").mean
    expected = comparison.expected_random().mean
    drawn = (
        f"Random draws should be off by √2 standard deviations, {expected:.3f}; "
        f"always saying the mean is off by {mean:.3f} only."
    )
    if mean == 0:
        return f"{drawn} Nobody's ratings vary, so there is nothing to explain."
    change = 100 * (1 - content / mean)
    verdict = f"{change:.1f} % below" if change >= 0 else f"{-change:.1f} % above"
    return f"{drawn} The content model's error is {verdict} that{_certainty(comparison)}."


def _certainty(comparison: Comparison) -> str:
    for compared in comparison.against_rivals():
        if compared.rival == "mean":
            p_value = compared.corrected_p_value
            told = "more than chance" if p_value < 0.05 else "which may be chance"
            return f", {told} ({p_text(p_value)})"
    return "; a single rater cannot tell chance from more"


def p_text(p_value: float) -> str:
    """Return a p-value as it is written in a sentence.

    >>> p_text(0.0312), p_text(1e-9)
    ('p = 0.031', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _errors(comparison: Comparison) -> str:
    rows = [_HEADER]
    for name in comparison.predictors:
        estimate, share = comparison.estimate(name), comparison.explained(name)
        error = "" if estimate.standard_error is None else f"{estimate.standard_error:.3f}"
        rows.append((LABELS[name], f"{estimate.mean:.3f}", error, _percent(share)))
    return _columns(rows, 1)


def _percent(share: MeanEstimate | None) -> str:
    return "" if share is None else f"{100 * share.mean:.1f} %"


def _cells(compared: Compared, count: int) -> tuple[str, ...]:
    low, high = compared.difference.interval()
    p_value = compared.corrected_p_value
    return (
        LABELS[compared.rival],
        f"{compared.difference.mean:+.3f}",
        f"{low:+.3f} to {high:+.3f}",
        "< 0.001" if p_value < 0.001 else f"{p_value:.3f}",
        f"{compared.raters_better} of {count}",
    )


def _columns(rows: Sequence[Sequence[str]], left: int) -> str:
    """Return rows with aligned columns, the first `left` to the left and the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
