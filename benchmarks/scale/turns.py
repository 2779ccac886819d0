"""What a crowd of listeners is told to do, and what it brings home."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who takes turns where, and how fast.

    A turn is what a listener tells of a song, and the question for the next one.
    """

    ports: Sequence[int]  # of the servers: what is told goes to one, the question to the next
    cookies: Sequence[str]  # of the listeners
    stars: Mapping[str, int]  # that each song gets, but for a listener's own mind
    prefix: str  # of the keys of the events: no two orders may have the same
    turns: int  # of all listeners together
    pace: float | None = None  # turns begun in a second; None: as soon as one before has ended
    together: int = 4  # turns at a time, without a pace
    first: int = 0  # the listener who begins
    # Songs are skipped, ratings taken back and artists banned too.
    is_lively: bool = False
    every_server: int | None = None  # every so manieth listener asks all servers; None: nobody


class Said(NamedTuple):
    """What a server said to a listener."""

    listener: int
    server: int  # which of the ports
    told: int  # the number of the event that the listener was told of before the question
    seq: int  # the last event that the choice takes into account
    at: int  # the moment for which it was made, in milliseconds
    step: int
    song: str
    score: float | None


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of an order; times are seconds."""

    telling: list[float] = field(default_factory=list)  # until what was told is in the log
    asking: list[float] = field(default_factory=list)  # from the question to the song
    turns: list[float] = field(default_factory=list)  # from when the turn was due to the song
    said: list[Said] = field(default_factory=list)
    told: list[int] = field(default_factory=list)  # of each listener: events acknowledged
    errors: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    processor_seconds: float | None = None  # of all servers; None where the system tells not

    @classmethod
    def of_json(cls, content: Mapping[str, Any]) -> Outcome:
        """Return an outcome that came as JSON."""
        return cls(**{**content, "said": [Said(*each) for each in content["said"]]})

    @property
    def behind(self) -> int:
        """How many answers did not know what the listener had told before."""
        return sum(said.seq < said.told for said in self.said)

    def fail(self, what: str) -> None:
        """Note an error."""
        self.errors[what] = self.errors.get(what, 0) + 1
