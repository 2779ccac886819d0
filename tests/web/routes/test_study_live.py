"""A study on the real server, by real sockets and the real clock, which is killed on the way."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from bandstand._util.clock import system_clock
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.store import studies
from bandstand.store.database.connection import open_store
from bandstand.study.design import Design
from bandstand.study.study_store import open_study
from tests.fixtures.web.servers import Server, prepared

PACE = 0.5  # seconds
SONGS = 3
DESIGN = Design(
    title="Songs on Sunday",
    algorithms=("bayes-ucb-cn-v", "random"),
    ratings_per_arm=SONGS,
    rest_seconds=0,
    gap_hours=0,
    answer_seconds=PACE,
    least_songs=40,
)


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """A server that is ready to be started, with a study."""
    ready = prepared(tmp_path, invented=60)
    with open_store(ready.store) as store:
        open_study(store, load_catalogue(store), DESIGN, clock=system_clock)
    yield ready
    ready.close()


def rows(server: Server) -> list[list[tuple[int, str, int | None]]]:
    """Return the number, song and stars of everything in ben's arms, in order."""
    with open_store(server.store) as store, store.reading() as connection:
        study = studies.opened(connection)
        assert study is not None
        return [
            [(row.number, row.song, row.stars) for row in studies.songs_of(connection, arm.id)]
            for arm in studies.arms(connection, study.id, server.ids["ben"])
        ]


def test_hung_up_on_and_killed_and_nothing_is_lost_or_doubled(server: Server) -> None:
    server.start()
    ben = server.client("ben")
    study = ben.post("/api/study/consent", json={"agree": True}).json()["study"]
    heard: list[list[str]] = []
    for arm in (f"/api/study/arms/{arm['id']}" for arm in study["arms"]):
        assert ben.post(f"{arm}/begin").status_code == 200
        heard.append([])
        for number in range(1, SONGS + 1):
            with pytest.raises(httpx.TimeoutException):
                ben.post(f"{arm}/next", timeout=PACE / 3)
            offer = ben.post(f"{arm}/next").json()
            assert offer["number"] == number
            if (len(heard), number) == (1, SONGS - 1):
                server.kill()
                server.start()
                ben = server.client("ben")
            # As soon as a page has its song, the song that waits is that one, and may be rated.
            assert ben.get("/api/study").json()["study"]["pending"]["song"] == offer["song"]
            told = {"number": number, "stars": number, "known": True}
            for _ in range(2):  # as if the first answer had been lost
                answer = ben.post(f"{arm}/ratings", json=told)
                assert answer.status_code == 200, answer.text
            heard[-1].append(offer["song"]["id"])
    assert ben.get("/api/study").json()["study"]["state"] == "done"
    server.stop()
    assert rows(server) == [
        [(number, song, number) for number, song in enumerate(part, start=1)] for part in heard
    ]
