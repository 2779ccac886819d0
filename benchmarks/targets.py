"""The promised figures: one table of targets, checked in one place.

A part gives its `figures` by name (see `program`). A target whose figure could not be measured
does not hold.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RELATIONS: Final[dict[str, Callable[[float, float], bool]]] = {
    "≤": operator.le,
    "<": operator.lt,
    "≥": operator.ge,
    ">": operator.gt,
    "=": operator.eq,
}


class Target(NamedTuple):
    """One promised figure."""

    part: str
    name: str  # of the part's figure
    relation: str
    bound: float
    unit: str = ""

    def check(self, value: float | None) -> dict[str, Any]:
        """Return the target beside a measured value, ready for JSON.

        >>> Target("step", "median", "≤", 3, "× stream").check(0.5)["holds"]
        True
        """
        return {
            "part": self.part,
            "name": self.name,
            "target": f"{self.relation} {self.bound:g} {self.unit}".strip(),
            "measured": None if value is None else float(value),
            "holds": value is not None and _RELATIONS[self.relation](value, self.bound),
        }


TARGETS: Final = (
    # bandstand bench
    Target("online", "median step", "≤", 1.0, "× LinUCB"),
    Target("online", "choices unlike brute force", "=", 0),
    Target("training", "sampler / exact, paper", "≥", 50, "×"),
    Target("training", "sampler / exact, stars", "≥", 50, "×"),
    Target("training", "variational / exact, paper", ">", 1, "×"),
    Target("training", "variational / exact, stars", ">", 1, "×"),
    Target("training", "variational, paper", "<", 0.2, "s"),
    Target("training", "variational, stars", "<", 0.2, "s"),
    Target("training", "sampler / variational, paper", "≥", 20, "×"),
    Target("training", "sampler / variational, stars", "≥", 20, "×"),
    Target("import", "import bandstand", "<", 0.3, "s"),
    Target("import", "frameworks loaded", "=", 0),
    # bandstand bench --scale
    Target("step", "median step, 500 ratings or more", "≤", 0.5, "× stream"),
    Target("step", "steps above 5 × stream, 500 ratings or more", "≤", 1, "of 200"),
    Target("step", "LinUCB / step, 500 ratings or more", "≥", 4, "×"),
    Target("step", "choices unlike brute force", "=", 0),
    Target("small", "median step, 500 ratings or more", "≤", 1.0, "× LinUCB"),
    Target("small", "choices unlike brute force", "=", 0),
    Target("playlist", "playlist", "≤", 10, "× stream"),
    Target("memory", "engine beyond 200 MB", "≤", 1.5, "× matrix"),
    Target("memory", "radio beyond 200 MB", "≤", 1.5, "× matrix"),
    Target("cold", "belief from the snapshot", "≤", 0.1, "s"),
    Target("cold", "belief from the log", "≤", 1.0, "s"),
    Target("scan", "one worker / two", "≥", 1.7, "×"),
    Target("serving", "wrong answers", "=", 0),
    Target("serving", "errors", "=", 0),
    Target("serving", "p99 at the lowest rate", "<", 0.3, "s"),
    # bandstand bench --radio
    Target("radio", "p99 of rating and next song, one listener", "<", 0.06, "s"),
    Target("radio", "p99 of a rating, all listeners at once", "<", 0.5, "s"),
    Target("radio", "ratings a second, all listeners at once", "≥", 300, "1/s"),
    Target("radio", "p99 of a rating, 10 a second", "<", 0.15, "s"),
    Target("radio", "songs chosen without the rating before", "=", 0),
    Target("radio", "errors", "=", 0),
    Target("radio", "acknowledged ratings that are not stored", "=", 0),
    Target("radio", "memory after the start", "<", 300, "MB"),
    Target("radio", "restart after kill -9", "<", 5, "s"),
    # bandstand bench --audio
    Target("audio", "decoding and describing a track", "≤", 0.25, "s"),
    Target("audio", "librosa / ours", "≥", 3, "×"),
)


def checks(parts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every target of the parts that were measured, with its figure."""
    return [
        target.check(parts[target.part]["figures"].get(target.name))
        for target in TARGETS
        if target.part in parts
    ]
