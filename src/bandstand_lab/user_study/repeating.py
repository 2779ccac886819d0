"""The commands that give the same report again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bandstand.study.design import Design
from bandstand_lab.user_study.words import COMMANDS

if TYPE_CHECKING:
    from bandstand.study.records import StudyData

_AGAIN: Final = "bandstand study report --from OUT/export AGAIN"
_PLANTED: Final = re.compile(r"Planted effects, in stars: (.*)\.")
_EFFECT: Final = re.compile(r"([a-z0-9-]+) ([-+][0-9.]+(?:e[-+][0-9]+)?)")


def commands(data: StudyData) -> str:
    """Return what to type; of simulated people, what simulates the same ones again."""
    if not data.simulated:
        return COMMANDS
    file = "study.toml " if needs_file(data) else ""
    planted = "".join(
        f" --effect {name}={size.lstrip('+')}" for name, size in planted_effects(data).items()
    )
    return (
        f"bandstand study report {file}OUT --simulate {len(data.participants)}{planted}\n{_AGAIN}"
    )


def needs_file(data: StudyData) -> bool:
    """Return whether the study differs from the one that is simulated without a file."""
    return data.design != Design()


def planted_effects(data: StudyData) -> dict[str, str]:
    """Return what the remarks say was planted, in stars, by algorithm; {} where they do not."""
    said = (found[1] for remark in data.remarks if (found := _PLANTED.fullmatch(remark)))
    pairs = (_EFFECT.fullmatch(each) for text in said for each in text.split(", "))
    return {each[1]: each[2] for each in pairs if each and each[1] in data.design.algorithms}
