"""Every answer of several servers, made again by one process from the log alone.

    python -m benchmarks.scale.replay < order.json > verdict.json

An answer says which event of the listener's log was the last that it knew, and for what moment
it was made. From those two the same song follows, whoever chose it, in whatever pieces the log
had come and whatever was kept in memory before: here the listener's whole log is read again and
nothing else. The song must be the same, its number and its score (within rounding) too.

Some answers are found by force as well (`forcing`): without shortlists or bounds, so that what the
servers and this process have in common is tested too.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bandstand.radio.choice.choosing import Model
from bandstand.radio.choice.shelf import load_shelf
from bandstand.radio.listener_settings import settings_from
from bandstand.radio.log.ledger import Ledger, continued
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from benchmarks.scale.forcing import among_all, among_many
from benchmarks.scale.turns import Said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bandstand.radio.choice.chosen import Chosen
    from bandstand.radio.choice.shelf import Shelf
    from bandstand.store.accounts import Account
    from bandstand.store.database.connection import Store
    from bandstand.store.events.events import Event

# A belief that came rating by rating and one that was made at once differ by rounding and by
# where the grid stands: in stars.
SCORE_TOLERANCE: Final = 1e-3
_SHOWN: Final = 10


class _Made(NamedTuple):
    """An answer, and how it was made again."""

    answer: Said
    model: Model
    chosen: Chosen
    seconds: float | None  # to learn what was told and to choose; None for a first choice
    read_all: bool  # whether a later choice read all songs


@dataclass(slots=True, kw_only=True)
class Verdict:
    """What the one process says of the answers of all servers."""

    checked: int = 0
    wrong: int = 0  # another song, another number, or another score
    behind: int = 0  # did not know what the listener had told before
    missing: int = 0  # events that were acknowledged and are not in the log
    by_model: int = 0  # how many were no draw by lot
    by_force: int = 0  # how many were found by force as well, among many songs
    among_all: int = 0  # how many of those among all songs
    largest_score_difference: float = 0.0  # in stars, of answers that are right
    # Processor time to learn what was told and to choose, of each turn after a listener's first;
    # and how many of them read all songs.
    engine_seconds: list[float] = field(default_factory=list)
    turns_that_read_all: int = 0
    examples: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, made: _Made) -> None:
        """Judge one answer by the choice that should have been made."""
        self.checked += 1
        self.behind += made.answer.seq < made.answer.told
        self.by_model += made.chosen.score is not None
        self.turns_that_read_all += made.read_all
        if made.seconds is not None:
            self.engine_seconds.append(made.seconds)
        self._compare(made.answer, made.chosen)

    def note_forced(self, said: Said, chosen: Chosen) -> None:
        """Judge one answer once more, by the choice that was found by force."""
        self.by_force += 1
        self._compare(said, chosen)

    def _compare(self, said: Said, chosen: Chosen) -> None:
        apart = _apart(said.score, chosen.score)
        same = (said.song, said.step) == (chosen.song, chosen.step)
        if same and apart <= SCORE_TOLERANCE:
            self.largest_score_difference = max(self.largest_score_difference, apart)
            return
        self.wrong += 1
        if len(self.examples) < _SHOWN:
            expected = {"song": chosen.song, "step": chosen.step, "score": chosen.score}
            self.examples.append({"said": said._asdict(), "expected": expected})


def _apart(score: float | None, other: float | None) -> float:
    if score is None or other is None:
        return 0.0 if score is other else float("inf")
    return abs(score - other)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listener:
    """What the store has of one listener."""

    account: Account
    settings: Any
    log: Sequence[Event]


def judged(
    store: Store,
    names: Sequence[str],
    said: Iterable[Said],
    *,
    told: Sequence[int] | None = None,
    by_force: int = 0,
    whole: int = 0,
) -> Verdict:
    """Return what one process says of answers; `names` are the listeners', by their numbers.

    `told` is how many events each listener was told are in the log, with those from before;
    `by_force` how many answers are looked for by force, evenly spread, the `whole` first of them
    among all songs.
    """
    verdict, began = Verdict(), time.perf_counter()
    shelf = load_shelf(store)
    by_listener = sorted(said, key=lambda each: (each.listener, each.seq, each.at))
    every = max(1, len(by_listener) // by_force) if by_force else 0
    for number, some in groupby(by_listener, key=lambda each: each.listener):
        listener = _read(store, names[number])
        if told is not None:
            verdict.missing += max(0, told[number] - len(listener.log))
        dial = listener.settings.dial
        for made in _choices(_models(shelf, listener, some), dial):
            verdict.note(made)
            if every and verdict.checked % every == 0 and verdict.by_force < by_force:
                is_whole = verdict.among_all < whole
                model = (
                    among_all(made.model) if is_whole else among_many(made.model, made.answer.song)
                )
                verdict.note_forced(made.answer, model.choose(now=made.answer.at, dial=dial))
                verdict.among_all += is_whole
    verdict.seconds = time.perf_counter() - began
    return verdict


def _models(
    shelf: Shelf, listener: _Listener, answers: Iterable[Said]
) -> Iterator[tuple[Said, Model]]:
    """Yield each answer with the listener's model as it should have been then."""
    ledger, model = Ledger.empty(), None
    settings, log = listener.settings, listener.log
    for answer in answers:
        known = log[: answer.seq]
        ledger = continued(ledger, known[ledger.seq :], lambda known=known: known)  # type: ignore[misc]
        if model is None:
            model = Model.begin(
                shelf,
                ledger,
                algorithm=settings.algorithm,
                intercept=settings.intercept,
                seed=listener.account.seed,
            )
        elif model.ledger.seq != ledger.seq:
            model = model.follow(ledger)
        yield answer, model


def _choices(models: Iterable[tuple[Said, Model]], dial: Any) -> Iterator[_Made]:
    """Yield each answer with the choice that should have been made, and what that took."""
    before: tuple[int, int] | None = None  # the last event known, and passes over all songs
    clock = time.process_time()
    for answer, model in models:
        chosen = model.choose(now=answer.at, dial=dial)
        seconds, passes = time.process_time() - clock, _passes(model)
        if before is None or answer.seq == before[0]:
            yield _Made(answer, model, chosen, None, read_all=False)
        else:
            yield _Made(answer, model, chosen, seconds, read_all=passes > before[1])
        before = answer.seq, passes
        clock = time.process_time()


def _passes(model: Model) -> int:
    """Return how often the model has read all songs."""
    memory = None if model.learner is None else model.learner.memory
    return int(getattr(memory, "passes", 0))


def _read(store: Store, name: str) -> _Listener:
    with store.reading() as connection:
        account = accounts.by_name(connection, name)
        assert account is not None, name  # noqa: S101
        return _Listener(
            account=account,
            settings=settings_from(accounts.settings(connection, account.id)),
            log=list(events.after(connection, account.id)),
        )


def main() -> None:
    """Read what was said, and write the verdict."""
    order = json.load(sys.stdin)
    with open_store(order["store"]) as store:
        said = [Said(*each) for each in order["said"]]
        verdict = judged(
            store,
            order["names"],
            said,
            told=order["told"],
            by_force=order["by_force"],
            whole=order["whole"],
        )
    json.dump(asdict(verdict), sys.stdout)


if __name__ == "__main__":
    main()
