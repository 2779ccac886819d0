"""Entries of an export: the columns that each has, their order, their JSON, and their checks.

One model describes an entry for both directions. `of` makes it from a row of its table, without
checks; `written` is its JSON; pydantic checks JSON that comes in, and `rows` gives what goes into
the tables.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
)
from sqlalchemy import Table

from bandstand.errors import InvalidInputError
from bandstand.store import accounts, playlists
from bandstand.store.accounts import Role, settings_to_text
from bandstand.store.database.schema import (
    ACCOUNT,
    EVENT,
    FILE,
    PLAYLIST,
    PLAYLIST_SONG,
    PROJECTION,
    SCAN,
    SONG,
    STUDY,
    STUDY_ARM,
    STUDY_PARTICIPANT,
    STUDY_SONG,
)
from bandstand.store.database.values import (
    DESCRIPTOR_COUNT,
    MAX_INTEGER,
    MIN_INTEGER,
    checked_id,
    checked_short_text,
    checked_text,
    descriptors_from_bytes,
    descriptors_to_bytes,
    folded,
    shown,
)
from bandstand.store.events.plays import Kind
from bandstand.store.events.values import MAX_KEY_CHARS, MAX_TARGET_CHARS, Scope
from bandstand.store.playlists import MAX_SONGS
from bandstand.store.songs.files import place
from bandstand.store.songs.save_analysis import song_name
from bandstand.store.studies import MAX_ALGORITHM_CHARS, checked_title, design_to_text

Row = tuple[Table, dict[str, Any]]

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
        msg = f"{name} must be {what}, got {shown(value)}"
        raise InvalidInputError(msg)

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


class Entry(BaseModel):
    """Some columns of one table, in the order in which an export has them; None is left out."""

    model_config = ConfigDict(strict=True, extra="forbid")

    table: ClassVar[Table]
    column_of: ClassVar[Mapping[str, str]] = {
        "account": "account_id",
        "song": "song_id",
        "study": "study_id",
        "content_base64": "content",
        "catalogue_base64": "catalogue",
    }

    @classmethod
    @cache
    def _columns(cls) -> tuple[tuple[str, str], ...]:
        """Return the names of the fields that are columns, and the names of these."""
        names = ((name, cls.column_of.get(name, name)) for name in cls.model_fields)
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

    def rows(self) -> Iterator[Row]:
        """Yield all that goes into the tables."""
        yield self.table, self.row()


class Scan(Entry):
    """A scan of the library."""

    table = SCAN
    number: Integer
    started_at: Integer
    finished_at: Integer | None = None
    found: Integer
    added: Integer
    changed: Integer
    moved: Integer
    missing: Integer
    failed: Integer
    unchanged: Integer


class Projection(Entry):
    """A projection of descriptors to features."""

    table = PROJECTION
    version: Integer
    created_at: Integer
    descriptor_version: Integer
    songs: Integer
    columns: Integer
    content_base64: Base64


class SongTags(Entry):
    """The tags of a song."""

    table = SONG
    title: Text | None = None
    artist: Text | None = None
    album: Text | None = None
    album_artist: Text | None = None
    genre: Text | None = None
    year: Integer | None = None
    track: Integer | None = None
    disc: Integer | None = None
    recording_mbid: Text | None = None
    release_mbid: Text | None = None
    artist_mbid: Text | None = None
    track_gain: Finite | None = None
    track_peak: Finite | None = None
    album_gain: Finite | None = None
    album_peak: Finite | None = None
    cover: Text | None = None


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


class Song(Entry):
    """A song with its file."""

    table = SONG
    id: Id
    tags: SongTags
    fingerprint: Text
    content_size: Count
    duration: Annotated[Finite, Field(ge=0)]
    descriptor_version: Integer
    added_at: Integer
    file: File
    descriptors: Descriptors

    def rows(self) -> Iterator[Row]:
        """Yield the song, then its file."""
        name = folded(song_name(self.tags.artist, self.tags.title))
        yield SONG, self.row(folded_name=name, **self.tags.row())
        yield FILE, self.file.row(song_id=self.id)


class Study(Entry):
    """A study."""

    table = STUDY
    id: Id
    title: Annotated[str, AfterValidator(checked_title)]
    created_at: Integer
    closed_at: Integer | None = None
    design: Design
    catalogue_base64: Base64


class Account(Entry):
    """An account without its password; what follows up to the next one belongs to it."""

    table = ACCOUNT
    id: Id
    name: Annotated[str, AfterValidator(accounts.checked_name)]
    role: Role
    disabled: bool
    seed: Count
    created_at: Integer
    settings: Settings

    def rows(self) -> Iterator[Row]:
        """Yield the account."""
        yield ACCOUNT, self.row(folded_name=folded(self.name))


class Event(Entry):
    """An event of an account's log."""

    table = EVENT
    account: Id
    seq: Number
    key: Annotated[str, _short(MAX_KEY_CHARS)]
    at: Integer
    kind: Kind
    song: Id | None = None
    stars: Stars | None = None
    played_ms: Count | None = None
    since_heard_ms: Count | None = None
    scope: Scope | None = None
    target: Annotated[str, _short(MAX_TARGET_CHARS)] | None = None
    until: Integer | None = None
    retracts: Number | None = None
    digest: Digest


class Playlist(Entry):
    """A playlist with its songs in order."""

    table = PLAYLIST
    id: Id
    account: Id
    name: Annotated[str, AfterValidator(playlists.checked_name)]
    created_at: Integer
    songs: Annotated[list[Id], Field(max_length=MAX_SONGS)]

    def rows(self) -> Iterator[Row]:
        """Yield the playlist, then its songs."""
        yield PLAYLIST, self.row()
        for position, song in enumerate(self.songs):
            row = {"playlist_id": self.id, "position": position, "song_id": song}
            yield PLAYLIST_SONG, row


class StudySong(Entry):
    """A song of an arm; the last fields are its rating."""

    table = STUDY_SONG
    number: Number
    song: Id
    offered_at: Integer
    choose_ms: Count
    stars: Stars | None = None
    known: bool | None = None
    played_ms: Count | None = None
    rated_at: Integer | None = None


class Arm(Entry):
    """An arm of a participant."""

    table = STUDY_ARM
    id: Id
    place: Count
    algorithm: Annotated[str, _short(MAX_ALGORITHM_CHARS)]
    seed: Count
    begun_at: Integer | None = None
    songs: list[StudySong]


class Participation(Entry):
    """A participant of a study with their arms."""

    table = STUDY_PARTICIPANT
    study: Id
    account: Id
    number: Number
    made_for_study: bool
    invited_at: Integer
    joined_at: Integer | None = None
    arms: list[Arm]

    def rows(self) -> Iterator[Row]:
        """Yield the participant, then the arms, then their songs."""
        yield STUDY_PARTICIPANT, self.row()
        for arm in self.arms:
            yield STUDY_ARM, arm.row(study_id=self.study, account_id=self.account)
            for song in arm.songs:
                yield STUDY_SONG, song.row(arm_id=arm.id)


# An entry may refer to entries of its own type or of those before it, never to later ones.
ENTRIES: Final[Mapping[str, type[Entry]]] = {
    "scan": Scan,
    "projection": Projection,
    "song": Song,
    "file": File,
    "study": Study,
    "account": Account,
    "event": Event,
    "playlist": Playlist,
    "participation": Participation,
}


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
