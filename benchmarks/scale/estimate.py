"""The cost model: time, memory and disk of a service, as formulas with measured constants.

maths   code                        meaning
S       `songs`                     songs of the catalogue
L       `listeners`                 listeners who have an account
a       `share_listening`           share of them who listen at the same time, at the peak
N       `ratings`                   ratings that a listener has given, in the mean
p       `columns`                   features of a song

    matrix            4 p S                                                   bytes      (1)
    kept per song     c_song S                                  bytes in each process    (2)
    listeners here    a L (belief + shortlist + N c_history)                  bytes      (3)
    disk              c_stored S + L (c_account + N (c_event + c_snapshot))   bytes      (4)
    turns             a L / (seconds between two songs)                       in a second (5)
    one turn          t_around + t_step + (passes per turn) t_pass S          seconds    (6)
    one arrival       t_cold + t_pass S                                       seconds    (7)
    cores             (5)·(6) + arrivals·(7)                                             (8)
    reading           4 p S · (passes in a second)                            bytes/s    (9)
    newcomers         n · (5) · t_new S      cores more, if they take the share n of all turns (10)
    cache             (3) / processes                       bytes that each has to keep (11)

A turn is a rating told to a server and the question for the next song. All listeners of (1) to (9)
are *known*: t_step and the passes are those of one situation of the part `step`, the slowest.
t_around is what servers do for a turn beside learning and choosing (HTTP, the log, the reasons):
their work in the part `serving` less the engine's for the same turns. Where that is not known it
is all of their work, which is too much, since their listeners are newcomers; where no servers were
measured it is nothing, which is too little. A newcomer's step may read all songs, so (10) grows
with them: t_new is the mean choice with its upkeep, which reads all songs ahead of time, per song,
of the listener with the fewest ratings in `growth`.
A pass reads the whole matrix once; (9) says how much memory traffic that is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_BYTES_PER_FEATURE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What was measured: seconds and bytes of one of each."""

    around_seconds: float  # of the servers' processors, for a turn, beside the engine's
    step_seconds: float  # of the engine, with its upkeep: mean of the slowest situation
    pass_seconds_per_song: float
    passes_per_turn: float  # in the same situation
    newcomer_seconds_per_song: float  # of a choice and its upkeep, in the mean
    newcomer_passes_per_turn: float  # within the turn or ahead of it
    cold_seconds: float  # until a belief from snapshot and tail is usable: without the pass
    song_bytes_kept: float  # in memory beside the matrix
    song_bytes_stored: float  # on the disk, the matrix with it
    listener_bytes_here: float  # belief and shortlist
    listener_bytes_stored: float
    rating_bytes_here: float
    rating_bytes_stored: float  # in the log, and in the snapshot

    @property
    def turn_seconds(self) -> float:
        """A known listener's turn, of the servers' processors."""
        return self.around_seconds + self.step_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service to be planned."""

    listeners: int = 10_000_000
    songs: int = 100_000_000
    columns: int = 91
    ratings: int = 1_000
    share_listening: float = 0.05
    seconds_between_songs: float = 210.0
    minutes_of_visit: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Computer:
    """One of the computers that it runs on."""

    name: str = "two sockets of 32 cores, 1 TB, 300 GB/s"
    cores: int = 64
    processes: int = 32  # servers, of which each keeps two cores busy
    memory_bytes: float = 1000e9
    bytes_per_second: float = 300e9  # that all cores together read from memory
    share_used: float = 0.6  # of cores and of reading: the rest is room for peaks


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a service takes."""

    turns_per_second: float
    arrivals_per_second: float
    passes_per_second: float
    cores: float
    cores_for_turns: float  # of these, without passes
    cores_for_arrivals: float  # with their passes
    matrix_bytes: float
    shared_bytes: float  # in each computer: the matrix, and what each process keeps of songs
    listeners_bytes: float  # in all computers together
    disk_bytes: float
    reading_bytes_per_second: float
    newcomer_cores: float  # more, for each hundredth of all turns that newcomers take
    newcomer_reading: float  # bytes in a second more, for the same
    cache_bytes: float  # that each process has to keep, if every listener stays with one
    computers: int
    limit: str  # what the number of computers follows from


def estimate(service: Service, constants: Constants, computer: Computer) -> Estimate:
    """Return what a service takes by the formulas above."""
    here = service.share_listening * service.listeners
    turns = here / service.seconds_between_songs
    arrivals = here / (60 * service.minutes_of_visit)
    passes = turns * constants.passes_per_turn + arrivals
    one_pass = constants.pass_seconds_per_song * service.songs
    matrix = float(_BYTES_PER_FEATURE * service.columns * service.songs)
    shared = matrix + computer.processes * constants.song_bytes_kept * service.songs
    each_here = constants.listener_bytes_here + service.ratings * constants.rating_bytes_here
    each_stored = constants.listener_bytes_stored + service.ratings * constants.rating_bytes_stored
    for_turns = turns * constants.turn_seconds
    for_arrivals = arrivals * (constants.cold_seconds + one_pass)
    cores = for_turns + for_arrivals + turns * constants.passes_per_turn * one_pass
    reading = passes * matrix
    needs = {
        "cores": cores / (computer.cores * computer.share_used),
        "reading memory": reading / (computer.bytes_per_second * computer.share_used),
        "memory": _for_memory(here * each_here, shared, computer),
    }
    limit = max(needs, key=lambda name: needs[name])
    computers = max(1, math.ceil(needs[limit])) if math.isfinite(needs[limit]) else 0
    return Estimate(
        turns_per_second=turns,
        arrivals_per_second=arrivals,
        passes_per_second=passes,
        cores=cores,
        cores_for_turns=for_turns,
        cores_for_arrivals=for_arrivals,
        matrix_bytes=matrix,
        shared_bytes=shared,
        listeners_bytes=here * each_here,
        disk_bytes=constants.song_bytes_stored * service.songs + service.listeners * each_stored,
        reading_bytes_per_second=reading,
        newcomer_cores=0.01 * turns * constants.newcomer_seconds_per_song * service.songs,
        newcomer_reading=0.01 * turns * constants.newcomer_passes_per_turn * matrix,
        cache_bytes=here * each_here / (max(1, computers) * computer.processes),
        computers=computers,
        limit=limit,
    )


def _for_memory(listeners: float, shared: float, computer: Computer) -> float:
    """Return how many computers hold all listeners, each with a whole catalogue; ∞ if none can."""
    room = 0.9 * computer.memory_bytes - shared
    return listeners / room if room > 0 else math.inf


def constants_of(document: Mapping[str, Any]) -> Constants:
    """Return the constants that a run of `bandstand bench --scale` has measured."""
    parts = document["parts"]
    situations, each = parts["step"]["situations"], parts["costs"]["each"]
    slowest = max(situations, key=_engine_seconds)
    newcomer = min(parts["growth"]["ratings"], key=lambda one: int(one["ratings"]))
    turn = served_turn(parts)
    smallest, largest = (parts["memory"]["radios"][place] for place in (0, -1))
    return Constants(
        around_seconds=0.0 if turn is None else turn.around,
        step_seconds=_engine_seconds(slowest),
        pass_seconds_per_song=max(
            one["seconds"]["first_choice"] / one["songs"] for one in situations
        ),
        passes_per_turn=slowest["passes"] / slowest["steps"],
        newcomer_seconds_per_song=_mean_of(newcomer, "choose", "upkeep") / newcomer["songs"],
        newcomer_passes_per_turn=(newcomer["passes"] + newcomer["passes_ahead"])
        / newcomer["steps"],
        cold_seconds=_cold_seconds(parts["cold"]),
        song_bytes_kept=_kept_per_song(smallest, largest),
        song_bytes_stored=each["song_in_store"] + each["song_in_matrix"],
        listener_bytes_here=max(
            *(one["bytes_of_belief"] + one["bytes_of_memory"] for one in situations),
            *(one["belief"] + one["shortlist"] for one in parts["costs"]["ratings"]),
        ),
        listener_bytes_stored=each["listener_in_store"],
        rating_bytes_here=each["rating_in_memory"],
        rating_bytes_stored=each["rating_in_log"] + each["rating_in_snapshot"],
    )


class ServedTurn(NamedTuple):
    """What a turn took at servers, and where that was measured."""

    seconds: float
    engine: float | None  # of that, learning and choosing; None where nobody has measured it
    rate: float  # turns in a second
    songs: int
    ratings: int  # that their listeners had given before, in the mean

    @property
    def around(self) -> float:
        """All but learning and choosing, or all of it where these are not known."""
        return self.seconds if self.engine is None else max(0.0, self.seconds - self.engine)


def served_turn(parts: Mapping[str, Any]) -> ServedTurn | None:
    """Return the servers' work for a turn at the highest rate held, or else at the lowest tried.

    None where no servers were measured, or the system does not tell how long they worked.
    """
    serving = parts.get("serving")
    if serving is None:
        return None
    load, request = _load_of(serving), serving["request"]
    work, engine = (
        load["server_processor_ms_per_turn"],
        serving["verdict"]["engine_ms_per_turn"],
    )
    if work is None:
        return None
    return ServedTurn(
        seconds=work / 1_000,
        engine=None if engine is None else engine / 1_000,
        rate=load["rate"],
        songs=request["songs"],
        ratings=request["ratings"],
    )


def _load_of(serving: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the last load at the highest rate held: a rate that is held is tried twice."""
    loads: list[Mapping[str, Any]] = serving["rates"]
    rate = serving["highest_rate_held"]
    held = [load for load in loads if load["is_held"] and load["rate"] == rate]
    return held[-1] if held else min(loads, key=lambda load: float(load["rate"]))


def _engine_seconds(situation: Mapping[str, Any]) -> float:
    """Return a step with what the engine does after it, in the mean."""
    return _mean_of(situation, "step", "upkeep")


def _mean_of(situation: Mapping[str, Any], *parts: str) -> float:
    """Return what some parts of a step take together, in the mean."""
    return sum(float(situation["seconds"][part]["mean"]) for part in parts)


def _cold_seconds(cold: Mapping[str, Any]) -> float:
    """Return the work until a belief is usable; the pass of the first choice is counted apart."""
    usable = cold["sizes"][-1]["from_snapshot"]["usable"]
    return float(usable["processor_seconds"]["median"])


def _kept_per_song(smallest: Mapping[str, Any], largest: Mapping[str, Any]) -> float:
    """Return what a radio holds beside the matrix for each song more."""
    if smallest["songs"] == largest["songs"] or None in {smallest["peak"], largest["peak"]}:
        return 0.0
    more = largest["peak"] - largest["matrix"] - (smallest["peak"] - smallest["matrix"])
    return max(0.0, float(more / (largest["songs"] - smallest["songs"])))
