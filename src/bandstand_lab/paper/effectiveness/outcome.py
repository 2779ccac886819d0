"""The results of all jobs as tables: regret by world and radio, one row per listener."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bandstand.types import frozen
from bandstand_lab.paper import orders
from bandstand_lab.paper.effectiveness.design import (
    LONG_PLACE,
    PLACES,
    QUIET_ONES,
    QUIET_PLACE,
    Design,
    Place,
    jobs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bandstand.types import Matrix
    from bandstand_lab.report.study import Json, Plan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """Regret after each song: (listeners, steps) by the keys of world and radio."""

    design: Design
    regrets: Mapping[tuple[str, str], Matrix]

    @classmethod
    def of(cls, plan: Plan, results: Mapping[str, Json]) -> Outcome:
        """Return what the results of the plan's jobs amount to."""
        rows: dict[tuple[str, str], list[list[float]]] = {}
        for job in jobs(plan):
            world = job.arguments["world"]
            place = Place(scale=world["scale"], noise=world["noise_standard_deviation"]).key
            for name, result in results[job.key].items():
                rows.setdefault((place, name), []).append(result["regret"])
        tables = {key: frozen(np.array(found)) for key, found in rows.items()}
        return cls(design=Design.of(plan), regrets=tables)

    def curves(self, place: Place, name: str) -> Matrix:
        """Return the regret of a radio up to the common number of songs: (listeners, steps)."""
        return self.regrets[place.key, name][:, : self.design.steps]

    def long_curves(self, name: str) -> Matrix:
        """Return the regret of a radio that was followed for longer: (listeners, long steps)."""
        return self.regrets[LONG_PLACE.key, name]

    def pairs(self, lower: str, upper: str, looks: Sequence[int] = ()) -> list[orders.Pair]:
        """Return both radios' regrets in every world after so many songs each."""
        return [
            orders.Pair(
                place=f"{place.label}, n = {look}",
                lower=self.curves(place, lower)[:, look - 1],
                upper=self.curves(place, upper)[:, look - 1],
            )
            for place in PLACES
            for look in looks or self.design.looks
        ]

    def quiet_pairs(self, lower: str, upper: str) -> list[orders.Pair]:
        """Return both radios' regrets with little noise; none unless both played there."""
        if lower not in QUIET_ONES or upper not in QUIET_ONES:
            return []
        return [
            orders.Pair(
                place=f"{QUIET_PLACE.label}, n = {look}",
                lower=self.regrets[QUIET_PLACE.key, lower][:, look - 1],
                upper=self.regrets[QUIET_PLACE.key, upper][:, look - 1],
            )
            for look in self.design.looks
        ]

    def variant_pair(self, place: Place, lower: str, upper: str) -> orders.Pair:
        """Return the regrets of two radios, for the listeners that variants met, at their end."""
        step, count = self.design.variant_steps, self.design.variant_listeners
        both = [self.regrets[place.key, name][:count, step - 1] for name in (lower, upper)]
        return orders.Pair(place=place.label, lower=both[0], upper=both[1])
