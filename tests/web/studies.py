"""A study on a server of a test, and people who take part in it.

ann = participant(world, "Ann")         # with a study that was opened by `begin_study`
ann.join()
ann.begin()
ann.rate(4)                             # asks, listens for as long as it must, rates
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bandstand.radio.study.opening import open_study
from bandstand.store import studies
from bandstand.study.design import Design

if TYPE_CHECKING:
    from bandstand.store.accounts import Account, Role
    from bandstand.store.studies import ArmRow, StudyRow
    from tests.web.asking import Answer, Client
    from tests.web.worlds import World

SECOND = 1_000
HOUR = 3_600 * SECOND
TITLE = "Songs on Sunday"
QUICK: dict[str, Any] = {
    "title": TITLE,
    "algorithms": ("random", "greedy-cn", "bayes-ucb-cn-x"),
    "ratings_per_arm": 3,
    "rest_after": 2,
    "answer_seconds": 0.0,
    "least_songs": 10,
}


def begin_study(world: World, **changes: Any) -> StudyRow:
    """Open a study of few ratings; without a word, answers come as soon as they can."""
    design = Design(**{**QUICK, **changes})
    return open_study(world.store, world.context.radio.shelf, design, clock=world.clock)


def close_study(world: World, study: StudyRow) -> None:
    with world.store.writing() as connection:
        studies.close(connection, study.id, now=world.clock())


@dataclass(slots=True)
class Participant:
    """Somebody with a session, in a world whose clock stands still until somebody waits."""

    world: World
    account: Account
    client: Client

    def elsewhere(self) -> Participant:
        """Return the same person on another device."""
        return Participant(self.world, self.account, self.world.member(self.account))

    # ── What the page asks ──────────────────────────────────────────────────────────────

    def status(self) -> dict[str, Any]:
        answer = self.client.ask("GET", "/api/study")
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json()["study"]
        return found

    def ask_to_join(self) -> Answer:
        return self.client.ask("POST", "/api/study/consent", json={"agree": True})

    def ask_to_begin(self, arm: str) -> Answer:
        return self.client.ask("POST", f"/api/study/arms/{arm}/begin")

    def ask_next(self, arm: str) -> Answer:
        return self.client.ask("POST", f"/api/study/arms/{arm}/next")

    def ask_to_rate(self, arm: str, number: int, stars: int = 4, **more: Any) -> Answer:
        body = {"number": number, "stars": stars, **more}
        return self.client.ask("POST", f"/api/study/arms/{arm}/ratings", json=body)

    def ask_to_withdraw(self) -> Answer:
        body = {"confirm": "withdraw"}
        return self.client.ask("DELETE", "/api/study/participation", json=body)

    # ── What somebody does who keeps to the rules ───────────────────────────────────────

    def arm(self, place: int = 1) -> str:
        """Return the id of the part at a place of the person's order."""
        found: str = self.status()["arms"][place - 1]["id"]
        return found

    def join(self) -> Participant:
        assert self.ask_to_join().status == 200
        return self

    def begin(self, place: int = 1) -> str:
        """Begin the part at a place, and return its id."""
        arm = self.arm(place)
        answer = self.ask_to_begin(arm)
        assert answer.status == 200, answer
        return arm

    def wait(self, seconds: float) -> None:
        self.world.clock.now += round(SECOND * seconds)

    def offered(self, arm: str) -> dict[str, Any]:
        answer = self.ask_next(arm)
        assert answer.status == 200, answer
        found: dict[str, Any] = answer.json()
        return found

    def rate(self, arm: str, stars: int = 4) -> Answer:
        """Rest if one must, hear the next song for as long as one must, and rate it."""
        self.wait(self.status()["wait_seconds"] or 0)
        offer = self.offered(arm)
        self.wait(offer["may_rate_in"])
        answer = self.ask_to_rate(
            arm, offer["number"], stars, played_seconds=max(30.0, offer["may_rate_in"])
        )
        assert answer.status == 200, answer
        return answer

    def finish(self, arm: str) -> None:
        """Rate all songs that a part still needs."""
        while self.arm_status(arm)["state"] != "done":
            self.rate(arm)

    def arm_status(self, arm: str) -> dict[str, Any]:
        found: dict[str, Any] = next(one for one in self.status()["arms"] if one["id"] == arm)
        return found

    # ── What only the store knows ───────────────────────────────────────────────────────

    def rows(self) -> list[ArmRow]:
        """Return the person's arms as the store has them, with what nobody is told."""
        with self.world.store.reading() as connection:
            study = studies.opened(connection)
            return [] if study is None else studies.arms(connection, study.id, self.account.id)


def participant(world: World, name: str = "Ann", role: Role = "listener") -> Participant:
    """Return somebody with an account, who has not agreed to anything yet."""
    account = world.account(name, role)
    return Participant(world, account, world.member(account))


def invited(world: World, study: StudyRow, name: str = "p01") -> Participant:
    """Return somebody whose account was made for the study."""
    person = participant(world, name)
    with world.store.writing() as connection:
        number = studies.free_number(connection, study.id)
        studies.invite(
            connection,
            study.id,
            person.account.id,
            made_for_study=True,
            number=number,
            now=world.clock(),
        )
    return person
