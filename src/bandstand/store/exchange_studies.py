"""What an entry of a study becomes in the tables, each value checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bandstand.store.entry_checks import (
    a_truth,
    an_object,
    at_least,
    check_names,
    integers,
    objects,
)
from bandstand.store.event_values import checked_id, checked_short_text
from bandstand.store.exchange_lines import from_base64
from bandstand.store.exporting_studies import (
    ARM_FACTS,
    PARTICIPANT_FACTS,
    PLAYED_FACTS,
    STUDY_FACTS,
)
from bandstand.store.studies import checked_title, design_to_text
from bandstand.store.study_values import LONGEST_ALGORITHM
from bandstand.store.values import checked_integer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Columns = dict[str, Any]


def study_columns(entry: Mapping[str, Any]) -> Columns:
    """Return the columns of a study."""
    check_names(entry, (*STUDY_FACTS, "design", "catalogue_base64"), may_lack={"closed_at"})
    return {
        "id": checked_id(entry["id"], "id"),
        "title": checked_title(entry["title"]),
        **integers(entry, ("created_at", "closed_at")),
        "design": design_to_text(an_object(entry["design"], "design")),
        "catalogue": from_base64(entry["catalogue_base64"], "catalogue_base64"),
    }


def participation_columns(
    entry: Mapping[str, Any],
) -> tuple[Columns, tuple[Columns, ...], tuple[Columns, ...]]:
    """Return the columns of a participant, of the arms, and of what was played in them."""
    check_names(entry, (*PARTICIPANT_FACTS, "arms"), may_lack={"joined_at"})
    participant = {
        "study_id": checked_id(entry["study"], "study"),
        "account_id": checked_id(entry["account"], "account"),
        "number": checked_integer(entry["number"], "number", least=1),
        "made_for_study": a_truth(entry["made_for_study"], "made_for_study"),
        **integers(entry, ("invited_at", "joined_at")),
    }
    owner = {name: participant[name] for name in ("study_id", "account_id")}
    given = objects(entry["arms"], "arms")
    arms = tuple({**_arm(arm), **owner} for arm in given)
    songs = tuple(
        _played(song, arm["id"]) for arm in given for song in objects(arm["songs"], "songs")
    )
    return participant, arms, songs


def _arm(fields: Mapping[str, Any]) -> Columns:
    check_names(fields, (*ARM_FACTS, "songs"), may_lack={"begun_at"})
    return {
        "id": checked_id(fields["id"], "id"),
        "place": checked_integer(fields["place"], "place", least=0),
        "algorithm": checked_short_text(fields["algorithm"], "algorithm", most=LONGEST_ALGORITHM),
        "seed": checked_integer(fields["seed"], "seed", least=0),
        **integers(fields, ("begun_at",)),
    }


def _played(fields: Mapping[str, Any], arm: str) -> Columns:
    check_names(fields, PLAYED_FACTS, may_lack=PLAYED_FACTS[PLAYED_FACTS.index("stars") :])
    said = {
        name: None if fields.get(name) is None else check(fields[name], name)
        for name, check in _CHECKS.items()
    }
    return {"arm_id": arm, "song_id": said.pop("song"), **said}


_CHECKS: Final[dict[str, Callable[[Any, str], Any]]] = {
    "number": at_least(1),
    "song": checked_id,
    "offered_at": checked_integer,
    "choose_ms": at_least(0),
    "stars": lambda value, name: checked_integer(value, name, least=1, most=5),
    "known": a_truth,
    "played_ms": at_least(0),
    "rated_at": checked_integer,
}
