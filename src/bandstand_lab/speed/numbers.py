"""Numbers as people read them."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with about three significant digits.

    >>> [number(x) for x in (0.0123, 0.814, 9.96, 84.3, 563.2, 1234.5)]
    ['0.012', '0.81', '9.96', '84.3', '563', '1,234']
    """
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"
