"""The user's own files, read once before the work, so that a bad one is refused in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand_lab import histories
from bandstand_lab.content.ratings import read_rated_items
from bandstand_lab.content.validation import DEFAULT_FOLDS
from bandstand_lab.simulation.tables import read_feature_table, read_tastes

if TYPE_CHECKING:
    from bandstand_lab.report.study import Plan


def check_data(plan: Plan) -> None:
    """Refuse a file that is not what its option wants; the sentence names it and the line."""
    if plan.taste is not None:
        read_tastes(plan.taste)
    if plan.features is not None:
        read_feature_table(plan.features)
    if plan.content is not None:
        read_rated_items(*plan.content, folds=DEFAULT_FOLDS)
    for file in plan.histories:  # one by one, as the studies read them
        histories.read([file])
