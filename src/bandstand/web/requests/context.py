"""The server's long-lived parts, which every request can reach."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from sqlalchemy import Connection

from bandstand._util.clock import Clock
from bandstand.media.media import Media
from bandstand.music.library.scanner import Scanner
from bandstand.radio.service import Radio
from bandstand.settings import Settings
from bandstand.store.database.connection import Store
from bandstand.study.service import StudyService
from bandstand.web.http.concurrency import ListenerQueue, ThreadPool
from bandstand.web.security.access import Access, access_from
from bandstand.web.security.browser_sessions import SessionCache
from bandstand.web.security.passwords import PasswordPool, SetupToken
from bandstand.web.security.throttle import Throttle

T = TypeVar("T")

_READ_THREADS = 2
# Selection is bound by the processor: more threads would delay every song, and speed up none.
_SELECTION_THREADS = 2
_SLOW_THREADS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The parts that outlive a request. `make_context` makes one, `close` ends its threads."""

    store: Store
    radio: Radio
    study: StudyService  # always there; it says so where no study is open
    clock: Clock
    access: Access
    pool: ThreadPool
    read_pool: ThreadPool  # for short reads, so that ratings never queue behind song selection
    selection_pool: ThreadPool  # for the next song, so that it never queues behind a long list
    slow_pool: ThreadPool  # for algorithms that take seconds: they delay only each other
    queue: ListenerQueue  # for questions to a listener's recommender
    next_queue: ListenerQueue  # the same listeners, in the selection pool
    slow_queue: ListenerQueue  # the same listeners, in the slow pool
    # Apart from all others: a request that waited for a study's choice would reveal its duration.
    study_queue: ListenerQueue
    password_pool: PasswordPool
    sessions: SessionCache
    throttle: Throttle
    setup: SetupToken
    guest: str | None = None  # in a demo: the name of the account of visitors without a session
    scanner: Scanner | None = None
    media: Media | None = None
    settings: Settings
    started_at: int
    stopping: threading.Event  # set when the server stops, so that endless streams can end

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Change the store and return the result; it is on the disk by then."""
        return await asyncio.wrap_future(self.radio.write(work))

    async def ask(
        self, queue: ListenerQueue, account: str, work: Callable[..., T], *args: Any, **kwargs: Any
    ) -> T:
        """Ask the radio on behalf of a listener; slow algorithms run in the slow pool.

        Settings may change while a question waits, so the algorithm is read when its turn comes.
        """
        is_quick = self.radio.is_quick
        for answer in await queue.run(
            account, lambda: [work(*args, **kwargs)] if is_quick(account) else []
        ):
            return answer
        return await self.slow_queue.run(account, work, *args, **kwargs)

    def forget_account(self, account: str) -> None:
        """Drop all that is cached of an account that is gone."""
        self.sessions.forget(account)
        self.radio.drop(account)
        self.study.drop(account)

    def close(self) -> None:
        """End the threads; the caller closes the radio and the store."""
        for pool in (self.pool, self.read_pool, self.selection_pool, self.slow_pool):
            pool.close()
        self.password_pool.close()


def make_context(
    store: Store,
    radio: Radio,
    *,
    clock: Clock,
    access: Access | None = None,
    settings: Settings | None = None,
    guest: str | None = None,
    scanner: Scanner | None = None,
    media: Media | None = None,
) -> Context:
    """Return a context with its own threads, caches and limits.

    `access` is taken from the settings unless given.
    """
    settings = settings or Settings()
    pool, read_pool = ThreadPool(), ThreadPool(_READ_THREADS, name="read")
    selection_pool = ThreadPool(_SELECTION_THREADS, name="selection")
    slow_pool = ThreadPool(_SLOW_THREADS, name="slow")
    queue = ListenerQueue(pool)
    return Context(
        store=store,
        radio=radio,
        study=StudyService(store, radio, clock),
        clock=clock,
        access=access or _described(settings),
        pool=pool,
        read_pool=read_pool,
        selection_pool=selection_pool,
        slow_pool=slow_pool,
        queue=queue,
        next_queue=ListenerQueue(selection_pool, beside=queue),
        slow_queue=ListenerQueue(slow_pool, beside=queue),
        study_queue=ListenerQueue(pool),
        password_pool=PasswordPool(),
        sessions=SessionCache(store, read_pool, clock),
        throttle=Throttle(),
        setup=SetupToken(),
        guest=guest,
        scanner=scanner,
        media=media,
        settings=settings,
        started_at=clock(),
        stopping=threading.Event(),
    )


def _described(settings: Settings) -> Access:
    return access_from(
        public_url=settings.public_url,
        host_names=settings.hosts,
        trusted_proxies=settings.trusted_proxies,
    )


async def context_of(request: Request) -> Context:
    """Return the context of the app that serves a request."""
    context: Context = request.app.state.context
    return context


ContextDep = Annotated[Context, Depends(context_of)]
