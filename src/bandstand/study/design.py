"""The design of a study, which is a TOML file; by default the paper's user study.

The paper, "User study": six algorithms, 200 recommendations of each, at least 30 seconds of
listening before a rating, 4 minutes of rest after every 20 songs, at most two algorithms a day
and more than six hours between two of them. A design is checked when it is made; one that
cannot be fulfilled is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, NoReturn

from bandstand._util.toml_files import read_toml
from bandstand.core.registry import ALGORITHMS, RETIRED, SOUND_ALGORITHMS
from bandstand.errors import InvalidInputError

# The paper's six, with its MCMC, which takes seconds for each song, replaced by the same model
# solved exactly.
PAPER_ALGORITHMS: Final = (
    "random",
    "linucb-c",
    "linucb-cn",
    "greedy-cn",
    "bayes-ucb-cn-x",
    "bayes-ucb-cn-v",
)

DEFAULT_TITLE: Final = "Comparison of music recommenders"

_TEMPLATES: Final = Path(__file__).with_name("templates")
DEFAULT_CONSENT: Final = (_TEMPLATES / "consent.txt").read_text(encoding="utf-8")

_MAX_TITLE: Final = 200
_MAX_CONSENT: Final = 20_000
_SHOWN: Final = 60
_MIN_ALGORITHMS: Final = 2
_HOURS_PER_DAY: Final = 24
_MAX_SEED: Final = 2**63 - 1

# The least and the most of each number; times in the unit that the name says.
_WHOLE: Final = {
    "ratings_per_arm": (1, 10_000),
    "rest_after": (1, 10_000),
    "arms_per_day": (1, 100),
    "least_songs": (2, 10_000_000),
    "seed": (0, _MAX_SEED),
}
_REAL: Final = {
    "listen_seconds": (0.0, 3_600.0),
    "rest_seconds": (0.0, 86_400.0),
    "gap_hours": (0.0, 168.0),
    "answer_seconds": (0.0, 60.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The rules of a study, the same for all participants, from its first day to its last.

    An arm is one algorithm as one participant meets it. Zero seconds or hours switch a wait off.

    >>> Design(rest_seconds=10).rest_seconds
    10.0
    """

    title: str = DEFAULT_TITLE
    consent: str = DEFAULT_CONSENT
    algorithms: tuple[str, ...] = PAPER_ALGORITHMS
    ratings_per_arm: int = 200
    listen_seconds: float = 30.0  # before a rating, unless the song is known
    rest_after: int = 20  # ratings
    rest_seconds: float = 240.0
    arms_per_day: int = 2  # within any 24 hours
    gap_hours: float = 6.0  # from the last rating of an arm to the next arm
    answer_seconds: float = 3.0  # from asking for a song to the answer, whatever chooses
    least_songs: int = 100  # that the catalogue must have
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be used, naming the field; whole seconds become real ones."""
        _check_text("title", self.title, most=_MAX_TITLE, lines=False)
        _check_text("consent", self.consent, most=_MAX_CONSENT, lines=True)
        object.__setattr__(self, "algorithms", _checked_algorithms(self.algorithms))
        for name in _WHOLE:
            _check_whole(name, getattr(self, name))
        for name in _REAL:
            object.__setattr__(self, name, _checked_real(name, getattr(self, name)))
        self._check_days()

    def _check_days(self) -> None:
        """Refuse a number of arms that the gaps between them leave no day for."""
        hours = (self.arms_per_day - 1) * self.gap_hours
        if hours >= _HOURS_PER_DAY:
            msg = (
                f"arms_per_day and gap_hours must leave all arms within {_HOURS_PER_DAY} hours, "
                f"got {self.arms_per_day} arms with {self.gap_hours:g} hours between two of them"
            )
            raise InvalidInputError(msg)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], source: str) -> Design:
        """Return the design that a file or the store says; what it leaves out is the default.

        >>> Design.from_mapping({"seed": -1}, "study.toml")
        Traceback (most recent call last):
        bandstand.errors.InvalidInputError: study.toml: seed must be a whole number from 0 to \
9223372036854775807, got -1
        """
        try:
            _check_keys(mapping)
            return cls(**mapping)
        except InvalidInputError as problem:
            msg = f"{source}: {problem}"
            raise InvalidInputError(msg) from problem

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON has them; `from_mapping` of it is this design."""
        return {**asdict(self), "algorithms": list(self.algorithms)}


def differences(before: Design, now: Design) -> tuple[str, ...]:
    """Return what `now` says otherwise than `before`, in words.

    >>> differences(Design(), Design(rest_seconds=10, seed=2))
    ('rest_seconds is 10 instead of 240', 'seed is 2 instead of 1')
    """
    return tuple(
        _difference(name, old, new)
        for name in (field.name for field in fields(Design))
        if (old := getattr(before, name)) != (new := getattr(now, name))
    )


def _difference(name: str, old: Any, new: Any) -> str:
    if name == "consent":
        return "consent is another text"
    if name == "algorithms":
        return f"algorithms are {', '.join(new)} instead of {', '.join(old)}"
    return f"{name} is {_shown(new)} instead of {_shown(old)}"


def _check_keys(mapping: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(Design)]
    for key in mapping:
        if key not in known:
            msg = f"a study must have no other keys than {', '.join(known)}, got {_shown(key)}"
            raise InvalidInputError(msg)


def _check_text(name: str, value: Any, *, most: int, lines: bool) -> None:
    what = f"text of 1 to {most:,} characters" + ("" if lines else " in one line")
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        _refuse(name, what, value)
    if not lines and value != value.strip():
        _refuse(name, f"{what} without spaces around it", value)
    if not all(char.isprintable() or (lines and char in "\n\t") for char in value):
        _refuse(name, f"{what} without control characters", value)


def _checked_algorithms(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        _refuse("algorithms", "a list of names", value)
    for name in value:
        if name not in SOUND_ALGORITHMS and name not in RETIRED:
            why = " (a study keeps no names of artists)" if name in ALGORITHMS else ""
            _refuse("algorithms", f"names among {', '.join(SOUND_ALGORITHMS)}{why}", name)
        if value.count(name) > 1:
            msg = f"algorithms must differ, got {name!r} twice"
            raise InvalidInputError(msg)
    if len(value) < _MIN_ALGORITHMS:
        _refuse("algorithms", f"at least {_MIN_ALGORITHMS} names", value)
    return tuple(value)


def _check_whole(name: str, value: Any) -> None:
    least, most = _WHOLE[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        _refuse(name, f"a whole number from {least} to {most}", value)


def _checked_real(name: str, value: Any) -> float:
    least, most = _REAL[name]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # What is not a number is neither below nor above anything.
    if not is_number or not least <= value <= most:
        _refuse(name, f"a number from {least:g} to {most:g}", value)
    return float(value)


def _refuse(name: str, expected: str, value: Any) -> NoReturn:
    msg = f"{name} must be {expected}, got {_shown(value)}"
    raise InvalidInputError(msg)


def _shown(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def read_design(path: Path) -> Design:
    """Return the design in a TOML file; raises InvalidInputError for whatever is wrong with it."""
    return Design.from_mapping(read_toml(path, "the study"), str(path))


def template() -> str:
    """Return a TOML file with every default and its meaning, to be edited."""
    design = Design()
    fields = design.as_json()
    fields["title"] = _quoted(design.title)
    fields["algorithms"] = "".join(f"    {_quoted(name)},\n" for name in design.algorithms)
    return (_TEMPLATES / "study.toml").read_text(encoding="utf-8").format(**fields)


def _quoted(text: str) -> str:
    """Return text as TOML writes it, which JSON does alike."""
    return json.dumps(text, ensure_ascii=False)
