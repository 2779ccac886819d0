"""What every request can reach: the radio, the store, the sessions, the settings."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, Request

from bandstand.settings import Settings
from bandstand.study.service import StudyService
from bandstand.web.http.listener_queue import Turns
from bandstand.web.http.thread_pools import Workers
from bandstand.web.security.access import Access, access_from
from bandstand.web.security.password_pool import PasswordDesk
from bandstand.web.security.session_cache import SessionCache
from bandstand.web.security.setup_token import SetupToken
from bandstand.web.security.throttle import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from bandstand._util.clock import Clock
    from bandstand.media.media import Media
    from bandstand.music.library.scanner import Scanner
    from bandstand.radio.service import Radio
    from bandstand.store.database.connection import Store

T = TypeVar("T")

_LOOKING = 2  # threads
# More at once would only make all of them late: a choice is work for a processor, and where one
# is done before the next begins, those who came first have their song sooner and nobody later.
_CHOOSING = 2
# Some algorithms take seconds. Those who want them wait for each other, and nobody else for them.
_PONDERING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything that outlives a request. `make_context` makes one, `close` ends its threads."""

    store: Store
    radio: Radio
    study: StudyService  # always there; it says so where no study is open
    clock: Clock
    access: Access
    workers: Workers
    # For looks at the store that take no time: nobody who rates waits for those who choose songs.
    looks: Workers
    choosers: Workers  # for the next song: it waits behind no long list
    ponderers: Workers  # for whatever an algorithm that is not quick has to say
    turns: Turns  # for questions about what is known of a listener
    next_turns: Turns  # the same listeners, for what has to be there at once: the next song
    slow_turns: Turns  # the same listeners, for what takes long whatever is asked
    # For songs of a study, apart from all others: who waits for a choice learns how long it takes.
    study_turns: Turns
    desk: PasswordDesk
    sessions: SessionCache
    throttle: Throttle
    setup: SetupToken
    # Where a demo serves this computer: the name of the account that acts for strangers.
    guest: str | None = None
    scanner: Scanner | None = None
    media: Media | None = None
    settings: Settings
    started_at: int
    # Set when the server is told to stop, so that answers without an end can end.
    stopping: threading.Event

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Return what a change of the store returns; it is on the disk by then."""
        return await asyncio.wrap_future(self.radio.write(work))

    async def ask(
        self, turns: Turns, account: str, work: Callable[..., T], *args: Any, **kwargs: Any
    ) -> T:
        """Return the radio's answer to a listener, whose slow algorithm keeps no others waiting."""
        is_quick = await self.looks.run(self.radio.is_quick, account)
        return await (turns if is_quick else self.slow_turns).run(account, work, *args, **kwargs)

    def close(self) -> None:
        """End the threads; the radio and the store belong to somebody else."""
        self.workers.close()
        self.looks.close()
        self.choosers.close()
        self.ponderers.close()
        self.desk.close()


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

    Without `access` it is the one that the settings describe.
    """
    settings = settings or Settings()
    workers, looks = Workers(), Workers(_LOOKING, name="looks")
    choosers = Workers(_CHOOSING, name="choosing")
    ponderers = Workers(_PONDERING, name="pondering")
    turns = Turns(workers)
    return Context(
        store=store,
        radio=radio,
        study=StudyService(store, radio, clock),
        clock=clock,
        access=access or _described(settings),
        workers=workers,
        looks=looks,
        choosers=choosers,
        ponderers=ponderers,
        turns=turns,
        next_turns=Turns(choosers, beside=turns),
        slow_turns=Turns(ponderers, beside=turns),
        study_turns=Turns(workers),
        desk=PasswordDesk(),
        sessions=SessionCache(store, looks, clock),
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
