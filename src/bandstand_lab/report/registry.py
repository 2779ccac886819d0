"""The studies, in the order of the paper; those that it does not have stand beside the nearest.

To add one, write it as a module of `bandstand_lab.paper` that ends in `STUDY`, and add one
line here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bandstand.errors import InvalidInputError
from bandstand_lab.paper import (
    ablation,
    content,
    effectiveness,
    efficiency,
    equivalence,
    histories,
    novelty_curves,
    novelty_learned,
    prediction_time,
    real_worlds,
    repetition,
    uncertainty,
    worked_example,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand_lab.report.study import Study


def all_studies() -> tuple[Study, ...]:
    """Return the studies, in the order of their chapters."""
    return (
        worked_example.STUDY,
        histories.STUDY,
        novelty_curves.STUDY,
        ablation.STUDY,
        content.STUDY,
        effectiveness.STUDY,
        real_worlds.STUDY,
        equivalence.STUDY,
        efficiency.STUDY,
        prediction_time.STUDY,
        uncertainty.STUDY,
        repetition.STUDY,
        novelty_learned.STUDY,
    )


def studies_named(studies: Sequence[Study], names: Sequence[str]) -> tuple[Study, ...]:
    """Return the studies of these names, in the order of their chapters; all if there are none."""
    known = [study.name for study in studies]
    for name in names:
        if name not in known:
            msg = f"the study must be one of {', '.join(known)}, got {name!r}"
            raise InvalidInputError(msg)
    return tuple(study for study in studies if not names or study.name in names)
