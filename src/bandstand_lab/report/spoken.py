"""Names of algorithms inside sentences, where a comma parts one from the next."""

from __future__ import annotations

from bandstand_lab.report.figures import look_of


def spoken(algorithm: str) -> str:
    """Return an algorithm's name as a sentence has it.

    >>> spoken("bayes-ucb-cn-x"), spoken("random")
    ('Bayes-UCB-CN (exact)', 'Random')
    """
    name, _, kind = look_of(algorithm).label.partition(", ")
    return f"{name} ({kind})" if kind else name
