"""A study as four files, and back to the same values.

    study.json        format, id, whether simulated, remarks, the whole design
    participants.csv  number, joined_at
    ratings.csv       a row for each rating; `played_seconds` and `choose_seconds` may be empty
    songs.csv         id, x1, x2, …: the features as they were frozen

Numbers are written with all their digits, so nothing is lost; moments are milliseconds since
1970, UTC. The files have no names: participants are numbers. What is read is checked as the input
of a stranger, and refused in one sentence with file and line.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from bandstand._util.csv_tables import check_columns, number, read_items, read_table, refuse, shown
from bandstand.study.design import Design
from bandstand.study.records import Participant, Record, SongSnapshot, StudyData

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import NoReturn

    Lines: TypeAlias = dict[tuple[int, str], dict[int, int]]

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRow:
    """One row; each method returns a value or refuses it, naming file, line and column."""

    path: Path
    line: int
    values: Mapping[str, str]

    def whole(self, name: str, least: int, most: int) -> int:
        """Return a whole number from `least` to `most`, written in digits alone."""
        field = self.values[name]
        # More digits than the largest number has are none; int() would take its time.
        is_digits = field.isascii() and field.isdigit() and len(field) <= len(str(most))
        if not is_digits or not least <= int(field) <= most:
            self.refuse(f"{name} must be a whole number from {least} to {most}, got {shown(field)}")
        return int(field)

    def seconds(self, name: str) -> float | None:
        """Return a number of at least 0, or None where nothing is written."""
        field = self.values[name]
        if not field:
            return None
        value = number(self.path, self.line, name, field, math.inf)
        if value < 0:
            self.refuse(f"{name} must not be negative, got {shown(field)}")
        return value

    def one_of(self, name: str, meanings: Mapping[str, _Value]) -> _Value:
        """Return what a word means that must be one of few."""
        field = self.values[name]
        if field not in meanings:
            self.refuse(f"{name} must be one of {', '.join(meanings)}, got {shown(field)}")
        return meanings[field]

    def refuse(self, what: str) -> NoReturn:
        """Say what is wrong with this row."""
        refuse(self.path, self.line, what)


def checked_rows(path: Path, columns: Sequence[str]) -> Iterator[CheckedRow]:
    """Yield the rows of a file with exactly these columns, in any order."""
    top, header, rows = read_table(path, ", ".join(columns))
    check_columns(path, top, header, required=columns, optional=())
    for line, row in rows:
        yield CheckedRow(path=path, line=line, values=dict(zip(header, row, strict=True)))


STUDY_FILE: Final = "study.json"
PEOPLE_FILE: Final = "participants.csv"
RATINGS_FILE: Final = "ratings.csv"
SONGS_FILE: Final = "songs.csv"
FILES: Final = (STUDY_FILE, PEOPLE_FILE, RATINGS_FILE, SONGS_FILE)

_FORMAT: Final = "bandstand study 1"
_KEYS: Final = ("format", "study", "simulated", "remarks", "design")
_PEOPLE: Final = tuple(field.name for field in fields(Participant))
_RATINGS: Final = tuple(field.name for field in fields(Record))
_LATEST: Final = 253_402_300_800_000  # the year 9999
_LARGEST: Final = 2**31 - 1  # number of a participant or a place
_YES_OR_NO: Final = {"true": True, "false": False}


def write_export(data: StudyData, folder: Path) -> None:
    """Write the four files into `folder`, which is made if need be; equal data, equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {
        "format": _FORMAT,
        "study": data.study,
        "simulated": data.simulated,
        "remarks": list(data.remarks),
        "design": data.design.as_json(),
    }
    text = json.dumps(about, ensure_ascii=False, allow_nan=False, indent=2)
    (folder / STUDY_FILE).write_text(f"{text}\n", encoding="utf-8", newline="\n")
    columns = [f"x{place}" for place in range(1, data.catalogue.features.shape[1] + 1)]
    rows = zip(data.catalogue.ids, data.catalogue.features.tolist(), strict=True)
    _write(folder / SONGS_FILE, ("id", *columns), ((song, *values) for song, values in rows))
    _write(folder / PEOPLE_FILE, _PEOPLE, map(astuple, data.participants))
    _write(folder / RATINGS_FILE, _RATINGS, map(astuple, data.records))


def read_export(folder: Path) -> StudyData:
    """Return the study of a folder that `write_export` has written."""
    about, design = _read_about(folder / STUDY_FILE)
    items = read_items(folder / SONGS_FILE, limit=sys.float_info.max)
    people = tuple(_read_people(folder / PEOPLE_FILE))
    records = _read_ratings(
        folder / RATINGS_FILE,
        design=design,
        songs=frozenset(items.ids),
        people=frozenset(person.number for person in people),
    )
    return StudyData(
        design=design,
        study=about["study"],
        catalogue=SongSnapshot.of(items.ids, items.features),
        records=records,
        participants=people,
        simulated=about["simulated"],
        remarks=tuple(about["remarks"]),
    )


def _write(path: Path, header: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)  # lines end as RFC 4180 says, so any line end in a value is quoted
    writer.writerow(header)
    for row in rows:
        writer.writerow([_field(value) for value in row])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")


def _field(value: object) -> str:
    """Return a value as text; a float with all its digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return float.__repr__(value) if isinstance(value, float) else str(value)


def _read_about(path: Path) -> tuple[dict[str, Any], Design]:
    """Return what study.json says, and the design in it."""
    about = _json(path)
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        got = about.get("format") if isinstance(about, dict) else about
        refuse(path, None, f'expected the format "{_FORMAT}", got {shown(got)}')
    if sorted(about) != sorted(_KEYS):
        refuse(path, None, f"expected the keys {', '.join(_KEYS)}, got {', '.join(about)}")
    study, simulated, remarks = (about[key] for key in ("study", "simulated", "remarks"))
    if not isinstance(study, str) or not study:
        refuse(path, None, f"study must be an id, got {shown(study)}")
    if not isinstance(simulated, bool):
        refuse(path, None, f"simulated must be true or false, got {shown(simulated)}")
    if not isinstance(remarks, list) or not all(isinstance(each, str) for each in remarks):
        refuse(path, None, f"remarks must be a list of sentences, got {shown(remarks)}")
    if not isinstance(about["design"], dict):
        refuse(path, None, f"design must be an object, got {shown(about['design'])}")
    return about, Design.from_mapping(about["design"], str(path))


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as problem:
        refuse(path, None, f"expected a file that can be read, got: {problem.strerror}")
    except json.JSONDecodeError as problem:
        refuse(path, problem.lineno, f"expected JSON, got: {problem.msg}")
    except (RecursionError, ValueError) as problem:  # too deep, or no UTF-8
        refuse(path, None, f"expected JSON in UTF-8, got: {problem}")


def _read_people(path: Path) -> Iterator[Participant]:
    lines: dict[int, int] = {}
    for row in checked_rows(path, _PEOPLE):
        number = row.whole("number", 0, _LARGEST)
        if number in lines:
            row.refuse(f"numbers must differ, got {number} as in line {lines[number]}")
        lines[number] = row.line
        yield Participant(number=number, joined_at=row.whole("joined_at", 0, _LATEST))


def _read_ratings(
    path: Path, *, design: Design, songs: frozenset[str], people: frozenset[int]
) -> tuple[Record, ...]:
    """Return all records in the order of the file, which need not be that of the ratings."""
    algorithms = {name: name for name in design.algorithms}
    records: list[Record] = []
    lines: Lines = {}
    places: dict[tuple[int, int], str] = {}  # the algorithm of each person's places
    for row in checked_rows(path, _RATINGS):
        record = _record(row, algorithms, design.ratings_per_arm)
        if record.song not in songs:
            row.refuse(f"song must be the id of one in {SONGS_FILE}, got {shown(record.song)}")
        if record.participant not in people:
            row.refuse(f"participant must be one of {PEOPLE_FILE}, got {record.participant}")
        _check_arm(row, record, lines, places)
        records.append(record)
    _check_gaps(path, lines)
    return tuple(records)


def _record(row: CheckedRow, algorithms: dict[str, str], ratings_per_arm: int) -> Record:
    return Record(
        participant=row.whole("participant", 0, _LARGEST),
        algorithm=row.one_of("algorithm", algorithms),
        place=row.whole("place", 0, _LARGEST),
        number=row.whole("number", 1, ratings_per_arm),
        song=row.values["song"],
        stars=row.whole("stars", 1, 5),
        known=row.one_of("known", _YES_OR_NO),
        offered_at=row.whole("offered_at", 0, _LATEST),
        rated_at=row.whole("rated_at", 0, _LATEST),
        played_seconds=row.seconds("played_seconds"),
        choose_seconds=row.seconds("choose_seconds"),
    )


def _check_arm(
    row: CheckedRow, record: Record, lines: Lines, places: dict[tuple[int, int], str]
) -> None:
    """Refuse a number that came before, and an arm in two places or two arms in one."""
    person, algorithm = record.participant, record.algorithm
    numbers = lines.setdefault((person, algorithm), {})
    if record.number in numbers:
        earlier = numbers[record.number]
        row.refuse(f"numbers of an arm must differ, got {record.number} as in line {earlier}")
    is_first = not numbers
    numbers[record.number] = row.line
    other = places.get((person, record.place))
    if other not in {None, algorithm}:
        row.refuse(f"place {record.place} of participant {person} is of {other}, got {algorithm}")
    if other is None and not is_first:
        row.refuse(f"an arm must have one place, got {record.place} as another of {algorithm}")
    places[person, record.place] = algorithm


def _check_gaps(path: Path, lines: Lines) -> None:
    for (person, algorithm), numbers in lines.items():
        missing = next(number for number in range(1, len(numbers) + 2) if number not in numbers)
        if missing <= len(numbers):
            after = min(number for number in numbers if number > missing)
            arm = f"participant {person} and {algorithm}"
            what = f"numbers of {arm} must have no gaps, got {after} but no {missing}"
            refuse(path, numbers[after], what)
