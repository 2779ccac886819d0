"""Entries of an export: the columns that each has, their order, their JSON, and their checks.

One model describes an entry for both directions; its fields follow from the columns of its table.
`of` makes it from a row, without checks; `written` is its JSON; pydantic checks JSON that comes in,
and `rows_of` gives what goes into the tables.
"""

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self

import sqlalchemy
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    create_model,
)
from sqlalchemy import DOUBLE_PRECISION, BigInteger, Boolean, Column, LargeBinary, Table

from bandstand.errors import InvalidInputError
from bandstand.store import accounts, playlists
from bandstand.store.accounts import Role, settings_to_text
from bandstand.store.database.schema import (
    ACCOUNT,
    DESCRIPTOR_COUNT,
    EVENT,
    FILE,
    IMPORT,
    MAX_INTEGER,
    MIN_INTEGER,
    PLAYLIST,
    PLAYLIST_SONG,
    PROJECTION,
    SCAN,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
    KeyText,
    checked_id,
    checked_short_text,
    checked_text,
    descriptors_from_bytes,
    descriptors_to_bytes,
    folded,
    shown,
    unfit,
)
from bandstand.store.events.values import MAX_KEY_CHARS, MAX_TARGET_CHARS, Kind, Scope
from bandstand.store.playlists import MAX_SONGS
from bandstand.store.songs.files import place
from bandstand.store.songs.save_analysis import song_name
from bandstand.store.studies import MAX_ALGORITHM_CHARS, checked_title, design_to_text
from bandstand.types import Tags

_DIGEST_BYTES: Final = 32
_SUBJECT: Final = re.compile(r"^(Input|String|List|Value) should")


def _named(check: Callable[[Any, str], Any]) -> Callable[[Any, ValidationInfo], Any]:
    """Return a check of ours as pydantic calls it, with the name of the field for its message."""
    return lambda value, info: check(value, str(info.field_name))


def _short(most: int) -> AfterValidator:
    return AfterValidator(_named(lambda value, name: checked_short_text(value, name, most=most)))


def _decoded(what: str, decode: Callable[[str], bytes]) -> Callable[[Any, ValidationInfo], bytes]:
    def check(value: Any, name: str) -> bytes:
        if isinstance(value, str):
            try:
                return decode(value)
            except ValueError:
                pass
        raise unfit(name, f"be {what}", value)

    return _named(check)


def _from_hex(text: str) -> bytes:
    digest = binascii.unhexlify(text)
    if len(digest) != _DIGEST_BYTES:
        raise ValueError
    return digest


Integer = Annotated[int, Field(ge=MIN_INTEGER, le=MAX_INTEGER)]
Count = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
Number = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Stars = Annotated[int, Field(ge=1, le=5)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Text = Annotated[str, AfterValidator(_named(checked_text))]
Id = Annotated[str, AfterValidator(_named(checked_id))]
Base64 = Annotated[
    bytes,
    BeforeValidator(_decoded("base64", lambda text: base64.b64decode(text, validate=True))),
    PlainSerializer(lambda content: base64.b64encode(content).decode()),
]
Digest = Annotated[
    bytes,
    BeforeValidator(_decoded(f"{2 * _DIGEST_BYTES} hexadecimal digits", _from_hex)),
    PlainSerializer(bytes.hex),
]
Descriptors = Annotated[
    list[Finite],
    Field(min_length=DESCRIPTOR_COUNT, max_length=DESCRIPTOR_COUNT),
    AfterValidator(descriptors_to_bytes),
    PlainSerializer(lambda content: descriptors_from_bytes(content).tolist()),
]
Settings = Annotated[
    dict[str, Any], AfterValidator(settings_to_text), PlainSerializer(json.loads, return_type=Any)
]
Design = Annotated[
    dict[str, Any], AfterValidator(design_to_text), PlainSerializer(json.loads, return_type=Any)
]


_COLUMN_OF: Final = {
    "account": "account_id",
    "song": "song_id",
    "study": "study_id",
    "content_base64": "content",
    "catalogue_base64": "catalogue",
}
_FIELD_OF: Final = {column: field for field, column in _COLUMN_OF.items()}
_BY_TYPE: Final[Mapping[type, Any]] = {
    BigInteger: Integer,
    Boolean: bool,
    DOUBLE_PRECISION: Finite,
    KeyText: Id,
    LargeBinary: Base64,
    sqlalchemy.Text: Text,
}
# Columns that take less than their type allows.
_BY_COLUMN: Final[Mapping[Column[Any], Any]] = {
    SONG.c.content_size: Count,
    SONG.c.duration: Annotated[Finite, Field(ge=0)],
    SONG.c.descriptors: Descriptors,
    STUDY.c.title: Annotated[str, AfterValidator(checked_title)],
    STUDY.c.design: Design,
    ACCOUNT.c.name: Annotated[str, AfterValidator(accounts.checked_name)],
    ACCOUNT.c.role: Role,
    ACCOUNT.c.seed: Count,
    ACCOUNT.c.settings: Settings,
    EVENT.c.seq: Number,
    EVENT.c.key: Annotated[str, _short(MAX_KEY_CHARS)],
    EVENT.c.kind: Kind,
    EVENT.c.stars: Stars,
    EVENT.c.played_ms: Count,
    EVENT.c.since_heard_ms: Count,
    EVENT.c.scope: Scope,
    EVENT.c.target: Annotated[str, _short(MAX_TARGET_CHARS)],
    EVENT.c.retracts: Number,
    EVENT.c.digest: Digest,
    IMPORT.c.digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")],
    IMPORT.c.songs: Count,
    PLAYLIST.c.name: Annotated[str, AfterValidator(playlists.checked_name)],
    STUDY_SONG.c.number: Number,
    STUDY_SONG.c.choose_ms: Count,
    STUDY_SONG.c.stars: Stars,
    STUDY_SONG.c.played_ms: Count,
    STUDY_ARM.c.place: Count,
    STUDY_ARM.c.algorithm: Annotated[str, _short(MAX_ALGORITHM_CHARS)],
    STUDY_ARM.c.seed: Count,
    STUDY_PARTICIPANT.c.number: Number,
}


class Entry(BaseModel):
    """Some columns of one table, in the order in which an export has them; None is left out."""

    model_config = ConfigDict(strict=True, extra="forbid")

    table: ClassVar[Table]

    @classmethod
    @cache
    def _columns(cls) -> tuple[tuple[str, str], ...]:
        """Return the names of the fields that are columns, and the names of these."""
        names = ((name, _COLUMN_OF.get(name, name)) for name in cls.model_fields)
        return tuple((name, column) for name, column in names if column in cls.table.c)

    @classmethod
    def of(cls, row: Mapping[Any, Any], **parts: Any) -> Self:
        """Return the entry of a row of the table, unchecked."""
        given = {name: row[column] for name, column in cls._columns()}
        return cls.model_construct(**given, **parts)

    def written(self, **options: Any) -> dict[str, Any]:
        """Return the entry as an object of JSON."""
        return self.model_dump(exclude_none=True, **options)

    def row(self, **more: Any) -> dict[str, Any]:
        """Return the columns of the table."""
        return {column: getattr(self, name) for name, column in self._columns()} | more


def _entry(table: Table, names: str = "", **parts: Any) -> type[Entry]:
    """Return the model of a table's rows, with these columns and parts, or with all columns."""
    fields: dict[str, Any] = {}
    for name in names.split() or table.c.keys():
        if name in parts:
            fields[name] = (parts[name], ...)
            continue
        column = table.c[name]
        kind = _BY_COLUMN.get(column, _BY_TYPE[type(column.type)])
        fields[_FIELD_OF.get(name, name)] = (kind | None, None) if column.nullable else (kind, ...)
    model = create_model(table.name, __base__=Entry, **fields)
    model.table = table
    return model


class File(Entry):
    """A file; an entry of its own has no song. The path is text where it can be."""

    table = FILE
    path: str | None = None
    path_base64: Base64 | None = None
    size: Count
    modified_ns: Integer
    problem: Text | None = None
    analysis_version: Integer
    seen: Integer
    missing: bool

    @classmethod
    def of(cls, row: Mapping[Any, Any], **parts: Any) -> Self:
        """Return the entry of a row of the table, unchecked."""
        file = super().of(row, **parts)
        try:
            file.path = row["path"].decode()
        except UnicodeDecodeError:
            file.path, file.path_base64 = None, row["path"]
        return file

    def row(self, **more: Any) -> dict[str, Any]:
        """Return the columns of the table."""
        if self.path is None and self.path_base64 is None:
            msg = "path or path_base64 must be given, got none"
            raise InvalidInputError(msg)
        path = self.path_base64 if self.path is None else self.path.encode()
        return {**super().row(), **place(path or b""), "song_id": None, **more}


SongTags: Final = _entry(SONG, " ".join(field.name for field in dataclasses.fields(Tags)))
Song: Final = _entry(
    SONG,
    "id tags fingerprint content_size duration descriptor_version added_at file descriptors",
    tags=SongTags,
    file=File,
)
Playlist: Final = _entry(
    PLAYLIST,
    "id account_id name created_at songs",
    songs=Annotated[list[Id], Field(max_length=MAX_SONGS)],
)
StudySong: Final = _entry(
    STUDY_SONG, "number song_id offered_at choose_ms stars known played_ms rated_at"
)
Arm: Final = _entry(STUDY_ARM, "id place algorithm seed begun_at songs", songs=list[StudySong])  # type: ignore[valid-type]
Participation: Final = _entry(
    STUDY_PARTICIPANT,
    "study_id account_id number made_for_study invited_at joined_at arms",
    arms=list[Arm],  # type: ignore[valid-type]
)

# An entry may refer to entries of its own type or of those before it, never to later ones.
ENTRIES: Final[Mapping[str, type[Entry]]] = {
    "scan": _entry(SCAN),
    "projection": _entry(PROJECTION),
    "song": Song,  # with its file
    "file": File,  # without a song
    "study": _entry(STUDY, "id title created_at closed_at design catalogue"),
    # Without its password; what follows up to the next account belongs to it.
    "account": _entry(ACCOUNT, "id name role disabled seed created_at settings"),
    "event": _entry(EVENT),
    "import": _entry(IMPORT),
    "playlist": Playlist,
    "participation": Participation,
}


def rows_of(kind: str, entry: Any) -> Iterator[tuple[Table, dict[str, Any]]]:
    """Yield all that an entry puts into the tables; what is referred to comes first."""
    if kind == "song":
        name = folded(song_name(entry.tags.artist, entry.tags.title))
        yield SONG, entry.row(folded_name=name, **entry.tags.row())
        yield FILE, entry.file.row(song_id=entry.id)
    elif kind == "account":
        yield ACCOUNT, entry.row(folded_name=folded(entry.name))
    else:
        yield entry.table, entry.row()
    if kind == "playlist":
        for position, song in enumerate(entry.songs):
            row = {"playlist_id": entry.id, "position": position, "song_id": song}
            yield PLAYLIST_SONG, row
    for arm in entry.arms if kind == "participation" else ():
        yield STUDY_ARM, arm.row(study_id=entry.study, account_id=entry.account)
        for song in arm.songs:
            yield STUDY_SONG, song.row(arm_id=arm.id)


def checked_entry(kind: str, fields: Mapping[str, Any]) -> Entry:
    """Return the entry of a type with these fields, if they can be its fields."""
    model = ENTRIES[kind]
    try:
        return model.model_validate(fields)
    except ValidationError as problem:
        raise InvalidInputError(_sentence(problem)) from problem


def _sentence(problem: ValidationError) -> str:
    """Return the first thing that pydantic found as "NAME must …, got …"."""
    first: Any = problem.errors(include_url=False)[0]
    name = next((part for part in reversed(first["loc"]) if isinstance(part, str)), "an entry")
    if "error" in first.get("ctx", {}):  # one of our own checks has said it
        return str(first["ctx"]["error"])
    if first["type"] == "missing":
        return f"{name} must be given, got none"
    if first["type"] == "extra_forbidden":
        return f"an entry must have no other names than its own, got {shown(name)}"
    return f"{name} {_SUBJECT.sub('must', first['msg'])}, got {shown(first['input'])}"
