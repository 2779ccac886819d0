"""One run of a pool: the jobs that are left, and the errands that are under way."""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING, Any, Final, Generic

from bandstand.errors import BandstandError
from bandstand.music.sandbox.request import Errand, K, LostChildError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from bandstand.music.sandbox.limits import Limits
    from bandstand.music.sandbox.outcomes import Outcome
    from bandstand.music.sandbox.workers import Crew

_MOST_LOST_IN_A_ROW: Final = 3


class Shift(Generic[K]):
    """Jobs taken one by one, each given to whoever is free; all in the thread that asks."""

    def __init__(
        self,
        jobs: Iterable[tuple[K, Mapping[str, Any]]],
        *,
        crew: Crew,
        limits: Limits,
        workers: int,
    ) -> None:
        self._jobs = iter(jobs)
        self._crew = crew
        self._limits = limits
        self._workers = workers
        self._errands: set[Errand[K]] = set()
        self._selector = selectors.DefaultSelector()
        self._lost_in_a_row = 0

    def outcomes(self) -> Iterator[tuple[K, Outcome]]:
        """Yield what became of each job, as they end."""
        self._fill()
        while self._errands:
            self._crew.check_open()
            done = self._wait()
            # First the next jobs, so that the children work while the caller looks at these.
            self._fill()
            yield from done

    def close(self) -> None:
        """End whoever is still at work."""
        for errand in list(self._errands):
            self._forget(errand)
            self._crew.dismiss(errand.worker)
        self._selector.close()

    def _fill(self) -> None:
        while len(self._errands) < self._workers:
            job = next(self._jobs, None)
            if job is None:
                return
            self._begin(*job)

    def _begin(self, key: K, request: Mapping[str, Any]) -> None:
        worker = self._crew.take()
        try:
            errand = Errand(key, request, worker=worker, limits=self._limits)
        except BaseException:
            self._crew.dismiss(worker)
            raise
        self._errands.add(errand)
        self._selector.register(worker.replies, selectors.EVENT_READ, errand)
        if worker.has_more_to_send:
            self._selector.register(worker.requests, selectors.EVENT_WRITE, errand)

    def _wait(self) -> list[tuple[K, Outcome]]:
        """Return what ended by the next event; what has arrived is read before clocks are."""
        first = min(errand.deadline for errand in self._errands)
        events = self._selector.select(max(0.0, first - time.monotonic()))
        moved = {key.data for key, _ in events}
        done = [self._concluded(errand, errand.advance) for errand in moved]
        late = [self._concluded(errand, errand.overdue) for errand in self._errands - moved]
        return [pair for pair in done + late if pair is not None]

    def _concluded(
        self, errand: Errand[K], look: Callable[[], Outcome | None]
    ) -> tuple[K, Outcome] | None:
        """Return an errand's key and outcome if it has one now."""
        try:
            outcome = look()
        except LostChildError as problem:
            self._ask_another(errand, problem)
            return None
        if outcome is None:
            self._watch_less(errand)
            return None
        self._lost_in_a_row = 0
        self._forget(errand)
        self._crew.give_back(errand.worker)
        return errand.key, outcome

    def _ask_another(self, errand: Errand[K], problem: LostChildError) -> None:
        self._forget(errand)
        self._crew.dismiss(errand.worker)
        self._lost_in_a_row += 1
        if self._lost_in_a_row >= _MOST_LOST_IN_A_ROW:
            msg = (
                "a child process must start and stay until it is asked, but "
                f"{_MOST_LOST_IN_A_ROW} in a row were lost: {problem}"
            )
            raise BandstandError(msg)
        self._begin(errand.key, errand.request)

    def _watch_less(self, errand: Errand[K]) -> None:
        """Do not wait for room in a pipe when there is nothing left to send."""
        worker = errand.worker
        if not worker.has_more_to_send and worker.requests in self._selector.get_map():
            self._selector.unregister(worker.requests)

    def _forget(self, errand: Errand[K]) -> None:
        self._errands.remove(errand)
        for end in (errand.worker.replies, errand.worker.requests):
            if end in self._selector.get_map():
                self._selector.unregister(end)
