"""Group commit: one thread writes for all, and commits together what waits together.

A sync to disk takes as long for a hundred events as for one. While one transaction is synced the
next tasks queue, and are committed together. A task is answered when its commit is on the disk.

    writer = GroupWriter(store)
    future = writer.submit(lambda connection: append(connection, new, now=now), order=new.account)
    future.result()        # it is on the disk, or this raises why not

An error in one task does not affect the others: the group is written again, each task in a
savepoint of its own. An error of the store is the answer of every task that it concerns.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Self, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from bandstand.errors import StoreError, StoreFailedError, StoreFullError, StoreLockedError
from bandstand.store.database.connection import Store
from bandstand.store.database.failures import store_error

MAX_GROUP_TASKS: Final = 256
MAX_WAITING_TASKS: Final = 4_096

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    work: Callable[[Connection], Any]
    order: str
    future: Future[Any]


class _Stage(Enum):
    BEGIN = auto()
    WORK = auto()
    COMMIT = auto()


@dataclass(frozen=True, slots=True)
class _Raised:
    """What one task raised while the others went on."""

    problem: BaseException


class GroupWriter:
    """A thread that writes to a store until `close`, or until the end of its `with` block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._failure: str | None = None
        # As a daemon it does not keep a process alive that forgot to close it.
        self._thread = threading.Thread(target=self._run, name="bandstand-writer", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    @property
    def failure(self) -> str | None:
        """Why nothing is written any more, in a sentence; None while all is well."""
        return self._failure

    def submit(self, work: Callable[[Connection], T], *, order: str = "") -> Future[T]:
        """Return the coming answer of `work`, which is on the disk by then.

        `work` is called with a connection that writes, on the writer's thread, and may be called
        again after its changes were undone. Tasks that wait together are done in the order of
        `order`, so that two processes lock the same things in the same order. Whatever goes wrong
        comes through the future.
        """
        future: Future[T] = Future()
        with self._changed:
            problem = self._refusal()
            if problem is None:
                self._waiting.append(_Task(work=work, order=order, future=future))
                self._changed.notify()
        if problem is not None:
            future.set_exception(problem)
        return future

    def close(self) -> None:
        """Finish what was submitted, and end; to close twice does no harm."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _refusal(self) -> StoreError | None:
        if self._failure is not None:
            return StoreFailedError(self._failure)
        if self._closing:
            return StoreError(
                f"the writer of {self._store.location} must be open, got a closed one"
            )
        if len(self._waiting) >= MAX_WAITING_TASKS:
            msg = f"at most {MAX_WAITING_TASKS:,} changes may wait to be written, got one more"
            return StoreLockedError(msg)
        return None

    def _run(self) -> None:
        group: Sequence[_Task] = ()
        try:
            while self._failure is None and (group := self._next_group()):
                self._write(group)
        except BaseException as problem:
            self._fail(f"the writer of {self._store.location} has ended: {problem!r}")
            raise
        finally:
            # Every task gets an answer.
            reason = self._failure or f"the writer of {self._store.location} has ended"
            _refuse((*group, *self._take_waiting()), StoreFailedError(reason))

    def _next_group(self) -> Sequence[_Task]:
        """Return what waits, once something does; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            count = min(len(self._waiting), MAX_GROUP_TASKS)
            taken = [self._waiting.popleft() for _ in range(count)]
        return sorted(taken, key=lambda task: task.order)

    def _take_waiting(self) -> Sequence[_Task]:
        with self._changed:
            taken = tuple(self._waiting)
            self._waiting.clear()
        return taken

    def _fail(self, reason: str) -> None:
        with self._changed:
            self._failure = self._failure or reason

    def _write(self, group: Sequence[_Task]) -> None:
        """Write a group, and answer each of its tasks."""
        tasks = [task for task in group if task.future.set_running_or_notify_cancel()]
        try:
            answers = self._answers(tasks)
        except StoreLockedError as problem:
            # Tasks that came meanwhile would wait as long, for the same error.
            _refuse((*tasks, *self._take_waiting()), problem)
        except StoreFailedError as problem:
            # What the disk has now is unknown until the store is opened again, and a second try
            # may seem to work without having: the system forgets what it could not write.
            self._fail(str(problem))
            _refuse(tasks, problem)
        except StoreError as problem:
            _refuse(tasks, problem)
        except MemoryError:
            msg = f"the store {self._store.location} needs more memory to write, got too little"
            _refuse(tasks, StoreError(msg))
        else:
            _answer(tasks, answers)

    def _answers(self, tasks: Sequence[_Task]) -> list[Any]:
        """Return what the tasks answer, once it is on the disk."""
        if not tasks:
            return []
        reached = _Stage.BEGIN
        try:
            with self._store.writing() as connection:
                reached = _Stage.WORK
                answers = [task.work(connection) for task in tasks]
                reached = _Stage.COMMIT
        except (StoreLockedError, StoreFullError, StoreFailedError):
            raise
        except BaseException:
            # What was to be committed may be on the disk, so it is not tried again.
            if reached is not _Stage.WORK:
                raise
        else:
            return answers
        with self._store.writing() as connection:
            return [self._answer_apart(connection, task) for task in tasks]

    def _answer_apart(self, connection: Connection, task: _Task) -> Any:
        """Return what a task answers, or what it raised, after which its changes are undone."""
        try:
            with connection.begin_nested():
                return task.work(connection)
        except MemoryError:  # SQLite may have undone more than that
            raise
        except SQLAlchemyError as problem:
            error = store_error(problem, self._store.location, wait=0)
            if type(error) is not StoreError or _is_lost(problem):
                raise
            return _Raised(error)
        except BaseException as problem:  # noqa: BLE001  # the answer of the task
            return _Raised(problem)


def _is_lost(problem: SQLAlchemyError) -> bool:
    """Return whether the connection can no longer be used."""
    return not isinstance(problem, DBAPIError) or problem.connection_invalidated


def _answer(tasks: Sequence[_Task], answers: Sequence[Any]) -> None:
    for task, answer in zip(tasks, answers, strict=True):
        if isinstance(answer, _Raised):
            task.future.set_exception(answer.problem)
        else:
            task.future.set_result(answer)


def _refuse(tasks: Iterable[_Task], problem: StoreError) -> None:
    """Answer all tasks that have no answer yet, each with an error of its own."""
    for task in tasks:
        future = task.future
        # One that still waits may be called off at this very moment.
        if future.running() or (not future.done() and future.set_running_or_notify_cancel()):
            future.set_exception(type(problem)(str(problem)))
