"""Plays songs to some listeners, one after the other or in turn, and prints what they hear.

python -m tests.radio.play_apart in-turn | one-by-one
"""

from __future__ import annotations

import json
import sys

from bandstand.radio.log.ledger import fold
from tests.radio.logs import HOUR, Log
from tests.radio.shelving import model, shelf

ALGORITHMS = ("bayes-ucb-cn-x", "thompson-cn-x", "linucb-cn", "random", "bayes-ucb-cn-v")


class Hearing:
    """One listener, who rates what is played by its row."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.log = Log()
        self.on = shelf(80)
        self.one = model(self.on, seed=number, algorithm=ALGORITHMS[number])
        self.heard: list[str] = []

    def step(self) -> None:
        """Hear one song."""
        chosen = self.one.choose(now=self.log.clock + HOUR)
        self.heard.append(chosen.song)
        self.log.add("rating", chosen.song, after=HOUR, stars=1 + chosen.row % 5)
        self.one = self.one.follow(fold(self.log.events))


def play(*, in_turn: bool, songs: int = 12) -> list[list[str]]:
    """Return what each listener hears, and the playlist after it."""
    listeners = [Hearing(number) for number in range(len(ALGORITHMS))]
    order = [
        listener
        for outer in (range(songs) if in_turn else listeners)
        for listener in (listeners if in_turn else [outer] * songs)
    ]
    for listener in order:
        listener.step()  # type: ignore[union-attr]
    return [
        [*each.heard, *(c.song for c in each.one.playlist(5, now=each.log.clock))]
        for each in listeners
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(play(in_turn=sys.argv[1] == "in-turn")))
