"""One listener rates in several tabs at once, over HTTP (B3)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from bandstand.radio.log.fold import fold
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from tests.fixtures.faults.load import PATIENCE, Answer, Asker
from tests.fixtures.faults.servers import NAMES, harmed, song_ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fixtures.web.servers import Server

TABS = 8
ROUNDS = 10


def at_once(server: Server, told: list[list[dict[str, Any]]]) -> list[list[Answer]]:
    """Return the answers that each tab gets for what it tells, all of them at the same moment."""
    start = threading.Barrier(len(told))

    def tab(own: list[dict[str, Any]]) -> list[Answer]:
        asker, answers = Asker(server, NAMES[0]), []
        for event in own:
            start.wait(PATIENCE)
            answers.append(asker.ask("POST", "/api/events", event))
        offer = asker.ask("GET", "/api/next")
        assert offer.status == 200
        assert offer.body["seq"] >= answers[-1].body["seq"]
        asker.close()
        return answers

    with ThreadPoolExecutor(len(told)) as pool:
        return list(pool.map(tab, told))


def rating(song: str, key: str, stars: int) -> dict[str, Any]:
    return {"key": key, "kind": "rating", "song": song, "stars": stars}


def test_tabs_that_rate_at_once_are_all_heard_in_one_order(tmp_path: Path) -> None:
    with harmed(tmp_path) as server:
        songs = song_ids(server)
        own = [
            [rating(songs[(tab + n) % 9], f"{tab}/{n}", 1 + n % 5) for n in range(ROUNDS)]
            for tab in range(TABS)
        ]
        answers = [answer for tab in at_once(server, own) for answer in tab]
        assert {answer.status for answer in answers} == {201}
        assert sorted(answer.body["seq"] for answer in answers) == list(range(1, len(answers) + 1))
        same = [[rating(songs[n], f"same {n}", 3) for n in range(ROUNDS)]] * TABS
        for together in zip(*at_once(server, same), strict=True):
            assert sorted(answer.status for answer in together) == [200] * (TABS - 1) + [201]
            assert len({answer.body["seq"] for answer in together}) == 1
        asker = Asker(server, NAMES[0])
        seq = asker.ask("GET", "/api/next").body["seq"]
        asker.close()
        with open_store(server.store) as store, store.reading() as connection:
            account = server.ids[NAMES[0]]
            log = list(events.after(connection, account))
            assert events.check_chain(connection, account) == []
        assert len(log) == (TABS + 1) * ROUNDS == seq
        assert len(fold(log).plays) > 0
