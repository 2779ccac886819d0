"""The rules of a study: whatever participants try, and whenever, none of them is ever broken."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bandstand.errors import RefusedError
from bandstand.study.design import Design
from bandstand.study.protocol import (
    DAY,
    HOUR,
    ArmState,
    PendingSong,
    check_begin,
    check_offer,
    check_rating,
    may_rate_at,
    next_step,
)
from tests.fixtures.study.playing import World, audit

NOW = 1_700_000_000_000
CENTURY = 36_525 * DAY
SHORT = Design(
    algorithms=("random", "greedy-cn", "linucb-c", "linucb-cn"), ratings_per_arm=4, rest_after=2
)

designs = st.builds(
    Design,
    algorithms=st.sampled_from(
        [("random", "greedy-cn"), ("random", "greedy-cn", "linucb-c", "linucb-cn")]
    ),
    ratings_per_arm=st.integers(1, 4),
    listen_seconds=st.sampled_from([0.0, 0.0015, 10.0, 30.0]),
    rest_after=st.integers(1, 3),
    rest_seconds=st.sampled_from([0.0, 1.2345, 240.0]),
    arms_per_day=st.sampled_from([2, 1, 3]),
    gap_hours=st.sampled_from([6.0, 0.1, 0.0]),
)


def _refusal(act: Callable[[], None]) -> RefusedError | None:
    try:
        act()
    except RefusedError as no:
        return no
    return None


class Participating(RuleBasedStateMachine):
    """A participant who tries anything at any time, and an auditor."""

    @initialize(design=designs)
    def join(self, design: Design) -> None:
        self.world = World(design)

    @rule(wait=st.sampled_from([1, 999, 1_000, 10_000, 30_000, 240_000, HOUR, 6 * HOUR, DAY]))
    def wait(self, wait: int) -> None:
        self.world.now += wait

    @rule(short=st.integers(0, 1))
    def wait_as_told(self, short: int) -> None:
        until = next_step(self.world.design, self.world.arms, self.world.now).until
        if until is not None:
            self.world.now = max(self.world.now, until - short)

    @rule(arm=st.integers(0, 3))
    def begin(self, arm: int) -> None:
        arm %= len(self.world.arms)
        self._try(lambda: self.world.begin(arm))

    @rule(
        heard=st.sampled_from([30, 30, 30, 12, 0]),
        known=st.booleans(),
        count=st.integers(1, 4),
        patient=st.booleans(),
    )
    def go_on(self, *, heard: int, known: bool, count: int, patient: bool) -> None:
        """Do what is next, as soon as it is allowed: so that there is something to go wrong."""
        for _ in range(count):
            if patient:
                self.wait_as_told(short=0)
            place = next_step(self.world.design, self.world.arms, self.world.now).place
            if place is None:
                return
            self._try(lambda arm=place - 1: self.world.begin(arm))  # type: ignore[misc]
            self._try(lambda arm=place - 1: self.world.offer(arm))  # type: ignore[misc]
            self.world.now += heard * 1_000
            self.rate(ahead=0, known=known, played=heard, song_seconds=200.0, arm=None)

    @rule(arm=st.integers(0, 3))
    def ask(self, arm: int) -> None:
        arm %= len(self.world.arms)
        self._try(lambda: self.world.offer(arm))

    @rule(
        ahead=st.sampled_from([0, 0, 0, 0, -1, 1]),
        known=st.booleans(),
        played=st.sampled_from([0.0, 9.5, 30.0, 1_000.0]),
        song_seconds=st.sampled_from([0.5, 10.0, 200.0]),
        arm=st.none() | st.integers(0, 3),
    )
    def rate(
        self, *, ahead: int, known: bool, played: float, song_seconds: float, arm: int | None
    ) -> None:
        place = next_step(self.world.design, self.world.arms, self.world.now).place
        chosen = (place or 1) - 1 if arm is None else arm % len(self.world.arms)
        number = self.world.arms[chosen].rated + 1 + ahead

        def act(heard: float) -> None:
            self.world.rate(chosen, number, known=known, played=heard, song_seconds=song_seconds)

        self._try(lambda: act(played), later=lambda: act(1_000.0))

    def _try(self, act: Callable[[], None], *, later: Callable[[], None] | None = None) -> None:
        """Do it if it is allowed; or else see that it is allowed when that was said, not before."""
        no = _refusal(act)
        if no is None:
            return
        assert no.message
        assert no.message == str(no)
        if no.until is None:
            self._is_refused_at(self.world.now + CENTURY, act)
            return
        assert no.until > self.world.now
        self._is_refused_at(no.until - 1, act)
        # Only in thought: the participant may do something else instead.
        real, self.world = self.world, self.world.copy()
        self.world.now = no.until
        (later or act)()
        self.world = real

    def _is_refused_at(self, now: int, act: Callable[[], None]) -> None:
        before, self.world.now = self.world.now, now
        assert _refusal(act) is not None
        self.world.now = before

    @invariant()
    def no_rule_is_broken(self) -> None:
        audit(self.world.design, self.world)

    @invariant()
    def what_is_said_to_be_possible_is(self) -> None:
        world = self.world
        stands = next_step(world.design, world.arms, world.now)
        if stands.state == "done":
            assert all(arm.finished for arm in world.arms)
            return
        assert stands.place is not None
        arm = world.arms[stands.place - 1]
        if stands.state == "begin":
            check_begin(world.design, world.arms, arm.id, world.now)
        elif stands.state == "listen":
            check_offer(world.design, arm, world.now)
        else:
            assert stands.until is not None
            assert stands.until > world.now
            assert stands.why in {"resting", "too_soon", "too_many_today"}
            after = next_step(world.design, world.arms, stands.until)
            assert after.state == {"rest": "listen", "wait": "begin"}[stands.state]


Participating.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
test_no_sequence_of_actions_breaks_a_rule = Participating.TestCase


@pytest.mark.parametrize("design", [Design(ratings_per_arm=45), SHORT])
def test_whoever_hurries_through_keeps_all_rules(design: Design) -> None:
    world = World(design)
    world.hurry_through()
    assert all(arm.finished for arm in world.arms)
    assert next_step(design, world.arms, world.now).state == "done"
    audit(design, world)


@pytest.mark.parametrize(
    "forgotten",
    [{"rest_seconds": 0}, {"rest_after": 3}, {"gap_hours": 0}, {"arms_per_day": 3},
     {"listen_seconds": 0}, {"ratings_per_arm": 5}],
)  # fmt: skip
def test_the_auditor_sees_every_rule_that_is_forgotten(forgotten: dict[str, Any]) -> None:
    world = World(replace(SHORT, **forgotten))
    world.hurry_through()
    with pytest.raises(AssertionError):
        audit(SHORT, world)


# ── Each rule by itself ──────────────────────────────────────────────────────────────────


def arm(place: int = 1, **changes: object) -> ArmState:
    fields: dict[str, object] = {
        "id": f"arm {place}",
        "place": place,
        "begun_at": None,
        "rated": 0,
        "last_rated_at": None,
        "pending": None,
        "finished": False,
    }
    return ArmState(**{**fields, **changes})  # type: ignore[arg-type]


def done(place: int, at: int) -> ArmState:
    return arm(place, begun_at=at - HOUR, rated=200, last_rated_at=at, finished=True)


def listening(offered_at: int = NOW, number: int = 1) -> ArmState:
    pending = PendingSong(number=number, song="a", offered_at=offered_at)
    return arm(begun_at=NOW, rated=number - 1, last_rated_at=NOW, pending=pending)


def refused(check: Callable[..., None], *args: object, **named: object) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        check(*args, **named)
    return caught.value


def test_the_first_arm_may_begin_at_any_time() -> None:
    check_begin(Design(), [arm(1), arm(2)], "arm 1", NOW)
    assert next_step(Design(), [arm(1), arm(2)], NOW).state == "begin"
    assert next_step(Design(), [], NOW).state == "done"


GOING = {"begun_at": NOW, "rated": 7, "last_rated_at": NOW}


@pytest.mark.parametrize(
    ("arms", "wanted", "now", "code", "until", "message"),
    [
        ([done(1, NOW), arm(2)], 2, NOW + 2 * HOUR, "too_soon", NOW + 6 * HOUR,
         "6 hours must pass between two parts, got 2 h; the next part may begin in 4 h"),
        ([done(1, NOW), done(2, NOW + 8 * HOUR), arm(3)], 3, NOW + 15 * HOUR, "too_many_today",
         NOW + DAY, "there must be at most 2 parts within 24 hours, got 2 already; the next"),
        # The later of two waits.
        ([done(1, NOW), done(2, NOW + 22 * HOUR), arm(3)], 3, NOW + 23 * HOUR, "too_soon",
         NOW + 28 * HOUR, "6 hours must pass"),
        ([arm(1, **GOING), arm(2)], 2, NOW + DAY, "unfinished", None,
         "part 1 must be finished before part 2 begins, got 7 ratings in it"),
        ([arm(1), arm(2)], 2, NOW, "unfinished", None, "part 1 must be finished"),
        ([arm(1), arm(2, **GOING)], 1, NOW + DAY, "unfinished", None, "part 2 must be finished"),
        ([arm(1)], 2, NOW, "not_yours", None, "a part must be one of your own"),
    ],
)  # fmt: skip
def test_an_arm_begins_in_its_order_and_after_its_waits(
    arms: list[ArmState], wanted: int, now: int, code: str, until: int | None, message: str
) -> None:
    no = refused(check_begin, Design(), arms, f"arm {wanted}", now)
    assert (no.code, no.until) == (code, until)
    assert no.message.startswith(message)
    if until is not None:
        check_begin(Design(), arms, f"arm {wanted}", until)


def test_an_arm_that_is_going_on_may_be_begun_again() -> None:
    check_begin(Design(), [arm(1, begun_at=NOW), arm(2)], "arm 1", NOW)


def test_an_arm_that_is_finished_has_no_more() -> None:
    finished = done(1, NOW)
    assert refused(check_begin, Design(), [finished], finished.id, NOW).code == "finished"
    assert refused(check_offer, Design(), finished, NOW).code == "finished"
    no = refused(
        check_rating, Design(), finished, 201, known=True, played_seconds=0.0, song_seconds=None,
        now=NOW,
    )  # fmt: skip
    assert no.code == "finished"
    assert refused(check_offer, Design(), arm(), NOW).code == "not_begun"


@pytest.mark.parametrize("rated", [20, 40, 180])
def test_after_twenty_ratings_comes_a_rest(rated: int) -> None:
    resting = arm(begun_at=NOW - HOUR, rated=rated, last_rated_at=NOW)
    no = refused(check_offer, Design(), resting, NOW + 40_000)
    assert (no.code, no.until) == ("resting", NOW + 240_000)
    assert no.message == (
        "after every 20 ratings a rest of 4 min must pass, got 40 s; "
        "the next song comes in 3 min 20 s"
    )
    check_offer(Design(), resting, NOW + 240_000)
    stands = next_step(Design(), [resting], NOW)
    assert (stands.state, stands.until, stands.why) == ("rest", NOW + 240_000, "resting")
    assert stands.message is not None


@pytest.mark.parametrize("rated", [0, 1, 19, 21])
def test_there_is_no_rest_in_between(rated: int) -> None:
    check_offer(Design(), arm(begun_at=NOW, rated=rated, last_rated_at=NOW), NOW)


def test_a_song_that_waits_may_always_be_asked_for_again() -> None:
    pending = PendingSong(number=21, song="a", offered_at=NOW)
    check_offer(Design(), arm(begun_at=NOW, rated=20, last_rated_at=NOW, pending=pending), NOW)


def rating(state: ArmState, number: int = 1, **changes: object) -> dict[str, object]:
    del state
    return {
        "number": number, "known": False, "played_seconds": 31.0, "song_seconds": 200.0,
        "now": NOW + 31_000, **changes,
    }  # fmt: skip


def test_a_song_must_be_heard_for_thirty_seconds() -> None:
    state = listening()
    no = refused(check_rating, Design(), state, **rating(state, now=NOW + 12_000))
    assert (no.code, no.until) == ("too_early", NOW + 30_000)
    assert no.message == (
        "a song must be heard for 30 s before it is rated, unless it is known, got 12.0 s; "
        "it may be rated in 18 s"
    )
    check_rating(Design(), state, **rating(state, now=NOW + 30_000))  # type: ignore[arg-type]


@pytest.mark.parametrize("played", [None, 0.0, 5.0, -3.0, float("nan"), float("-inf")])
def test_time_that_passes_in_silence_is_not_listening(played: float | None) -> None:
    state = listening()
    late = rating(state, now=NOW + HOUR, played_seconds=played)
    no = refused(check_rating, Design(), state, **late)
    assert no.code == "too_early"
    assert no.until is not None
    assert no.until > NOW + HOUR


def test_a_known_song_may_be_rated_at_once() -> None:
    state = listening()
    at_once = rating(state, now=NOW, known=True, played_seconds=None)
    check_rating(Design(), state, **at_once)  # type: ignore[arg-type]


def test_a_short_song_need_not_be_heard_for_longer_than_it_is() -> None:
    state = listening()
    heard = rating(state, now=NOW + 12_000, played_seconds=11.9, song_seconds=12.0)
    check_rating(Design(), state, **heard)  # type: ignore[arg-type]
    assert may_rate_at(Design(), NOW, 12.0) == NOW + 12_000
    half = rating(state, now=NOW + 12_000, played_seconds=6.0, song_seconds=12.0)
    assert refused(check_rating, Design(), state, **half).code == "too_early"


@pytest.mark.parametrize("song_seconds", [None, 0.0, -1.0, float("nan"), 30.0, 500.0])
def test_a_song_of_unknown_length_must_be_heard_as_long_as_any(song_seconds: float | None) -> None:
    assert may_rate_at(Design(), NOW, song_seconds) == NOW + 30_000


@pytest.mark.parametrize(
    ("state", "number", "code"),
    [
        (listening(), 2, "not_offered"),
        (listening(), 7, "not_offered"),
        (arm(begun_at=NOW), 1, "not_offered"),
        (listening(number=3), 2, "already_rated"),
    ],
)
def test_only_the_song_on_offer_may_be_rated_and_once(
    state: ArmState, number: int, code: str
) -> None:
    assert refused(check_rating, Design(), state, **rating(state, number)).code == code


def test_a_song_that_is_chosen_but_not_shown_yet_does_not_exist() -> None:
    """Or else whoever guesses its number would learn how long the choice took."""
    state = listening(offered_at=NOW + 3_000)
    early = rating(state, known=True, now=NOW + 2_999)
    nothing = replace(state, pending=None)
    no, same = (refused(check_rating, Design(), it, **early) for it in (state, nothing))
    assert (no.code, no.message, no.until) == (same.code, same.message, same.until)
    assert no.code == "not_offered"


def test_a_refusal_reaches_another_process_as_it_is() -> None:
    no = refused(check_offer, Design(), arm(begun_at=NOW, rated=20, last_rated_at=NOW), NOW)
    same = pickle.loads(pickle.dumps(no))  # noqa: S301  # our own bytes
    assert (str(same), same.code, same.until) == (str(no), no.code, no.until)
