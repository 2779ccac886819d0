"""Whether two ledgers say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bandstand.radio.log.ledger import Ledger


def same(one: Ledger, other: Ledger) -> bool:
    """Return whether two ledgers agree in everything that can be asked of them."""
    return (
        one.digest() == other.digest()
        and one.learnt_digest() == other.learnt_digest()
        and list(one.plays) == list(other.plays)
        and dict(one.last_heard) == dict(other.last_heard)
        and one.recent == other.recent
        and one.rules == other.rules
    )
