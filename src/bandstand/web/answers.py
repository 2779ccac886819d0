"""The shapes of all answers in JSON, by the `operation_id` of their routes.

Where a route answers with a dataclass of ours, that is its shape. The others are written like
named tuples, fields of one type together: {"id title": str}. A field that ends in "?" may be
absent, and [str] is a list of texts. The tests hold every answer that they get against these.
"""

# No postponed annotations: pydantic reads them when the program runs.

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema

from bandstand.music.library.scanner import Progress
from bandstand.music.library.scanner import State as ScanState
from bandstand.radio.explain import profile, taste
from bandstand.radio.explain.why import Why
from bandstand.radio.listener_settings import ListenerSettings
from bandstand.radio.selection.select import Mode
from bandstand.store.accounts import Role
from bandstand.store.app_passwords import AppPassword, AppScope
from bandstand.store.events.events import Kind, Scope
from bandstand.store.sessions import SessionRecord
from bandstand.study.protocol import Code
from bandstand.study.queries import Membership


def _shape(name: str, fields: dict[str, Any], base: Any = None) -> Any:
    """Return the shape of an object, with all fields of `base` too."""
    each: dict[str, Any] = {
        key.removesuffix("?"): (_type(kind), None if key.endswith("?") else ...)
        for keys, kind in fields.items()
        for key in keys.split()
    }
    exactly = ConfigDict(extra="forbid") if base is None else None
    return create_model(name, __base__=base, __config__=exactly, **each)


def _type(kind: Any) -> Any:
    return list[kind[0]] if isinstance(kind, list) else kind


Time = Annotated[int, Field(description="UTC, in milliseconds since 1970")]

# ── Errors and accounts ──────────────────────────────────────────────────────────────────

_CODE: Final = Annotated[str, Field(description="for programs; it never changes")]
_MESSAGE: Final = Annotated[str, Field(description="for people")]
_REQUEST: Final = Annotated[str, Field(description="finds the request in the log")]
_ERROR: Final = {"code": _CODE, "message": _MESSAGE, "request_id": _REQUEST, "until?": Time}
PROBLEM: Final = _shape("Problem", {"error": _shape("ErrorDetails", _ERROR)})
_HEALTH: Final = _shape("Health", {"status": Literal["ok", "failed"], "writable": bool})
_ACCOUNT: Final = _shape("Account", {"id name": str, "role": Role})
_USER: Final = _shape("User", {"disabled has_password": bool, "created_at": Time}, _ACCOUNT)


@dataclass(frozen=True, kw_only=True)
class NewAppPassword(AppPassword):
    """An app password with its secret."""

    secret: str


# ── Songs and events ─────────────────────────────────────────────────────────────────────

_GAINS: Final = {"track_gain track_peak album_gain album_peak": float | None}
_SONG: Final = _shape(
    "Song",
    {
        "id title audio": str,
        "artist album album_artist genre cover recording_mbid": str | None,
        "year track disc": int | None,
        "duration": float,
        "replay_gain": _shape("ReplayGain", _GAINS) | None,
        "has_cover is_present": bool,
        "favourite": bool | None,
    },
)
_OFFER: Final = _shape(
    "Offer",
    {"song": _SONG, "why": Why, "step seq": int, "mode": Mode, "note": str | None, "at": Time},
)
_EVENT: Final = _shape(
    "Event",
    {
        "seq": int,
        "at until?": Time,
        "kind": Kind,
        "key song? target?": str,
        "stars? retracts?": int,
        "played_seconds?": float,
        "scope?": Scope,
    },
)
_STORED: Final = _shape("StoredEvent", {"stored": Literal[True]}, _EVENT)
_NOT_STORED: Final = _shape("NotStored", {"stored": Literal[False]})
_NAMES: Final = {"title?": str, "artist?": str | None}
_PAST: Final = _shape("PastEvent", {"is_retracted": bool, **_NAMES}, _EVENT)
_HISTORY: Final = [_shape("HistoryEvent", {"retracted?": _PAST}, _PAST)]
_PLAYLIST: Final = _shape("PlaylistSummary", {"id name": str, "created_at": Time, "count": int})
_JSPF: Final = _shape("JspfFile", {"playlist": dict[str, Any]})
_MARK: Final = _shape("Mark", {"scope": Scope, "target": str, "at": Time})
_RULE: Final = _shape("Rule", {"until": Time | None, "seq": int, **_NAMES}, _MARK)
_NAME: Final = _shape("SongName", {"name": str, "artist?": str | None, "songs": int})
_TARGET: Final = _shape(
    "ScrobbleTarget",
    {
        "id url": str,
        "delivered_at": Time | None,
        "problem refusal": str | None,
        "wait_until": Time,
    },
)
_TOKEN: Final = _shape("Token", {"code": int, "message": str, "valid": bool, "user_name?": str})
_SUBMISSION: Final = _shape("Submission", {"status": Literal["ok"], "bandstand?": dict[str, int]})


@dataclass(frozen=True, kw_only=True)
class Settings(ListenerSettings):
    """The settings of a listener, and what there is to choose from."""

    algorithms: list[str]
    summaries: dict[str, str]
    version: str


# ── Studies and administration ───────────────────────────────────────────────────────────

_STUDY_SONG: Final = _shape(
    "StudySong", {"number rated of": int, "song": _SONG, "may_rate_in": float}
)
_STUDY_RULES: Final = {
    "ratings_per_arm rest_after arms_per_day": int,
    "listen_seconds rest_seconds gap_hours answer_seconds": float,
}
_ARM: Final = {"id": str, "place rated of": int, "state": Literal["waiting", "open", "done"]}
_STATUS: Final = _shape(
    "StudyStatus",
    {
        "title consent": str,
        "only joined": bool,
        "state": Literal["consent", "begin", "listen", "rest", "wait", "done"],
        "why": Code | None,
        "message": str | None,
        "now": Time,
        "until": Time | None,
        "wait_seconds": float | None,
        "place": int | None,
        "parts": int,
        "rules": _shape("StudyRules", _STUDY_RULES),
        "arms": [_shape("StudyArm", _ARM)],
        "pending": _shape("PendingSong", {"arm": str}, _STUDY_SONG) | None,
    },
)
_STUDY: Final = _shape("Study", {"study": _STATUS | None})
_PARTICIPANT: Final = _shape(
    "Participant", {"number parts_done ratings": int, "joined_at last_at": Time | None}
)
_PROGRESS: Final = _shape(
    "StudyProgress",
    {"title": str, "parts ratings_per_arm": int, "participants": [_PARTICIPANT]},
)
_UNREADABLE: Final = _shape("UnreadableFile", {"path reason": str})


@dataclass(frozen=True, kw_only=True)
class ScanStart(Progress):
    """The progress of the scan, and whether it was this request that began it."""

    started: bool


# ── All of them ──────────────────────────────────────────────────────────────────────────

# The shape of the answer of each operation; by status where there are several.
ANSWERS: Final[dict[str, Any]] = {
    "add_app": NewAppPassword,
    "add_user": _USER,
    "apps": _shape("Apps", {"apps": [AppPassword]}),
    "begin_arm": _STUDY,
    "change_playlist": _PLAYLIST,
    "change_settings": Settings,
    "change_user": _USER,
    "description": dict[str, Any],
    "devices": _shape("Devices", {"devices": [SessionRecord]}),
    "favourites": _shape("Marks", {"favourites": [_MARK]}),
    "forget": _shape("Forgotten", {"forgotten": int}),
    "health": {200: _HEALTH, 503: _HEALTH | PROBLEM},
    "history": _shape("History", {"events": _HISTORY, "next_before": int | None}),
    "join_study": _STUDY,
    "library": _shape(
        "Library",
        {
            "songs artists albums genres done change": int,
            "duration": float,
            "is_scanning": bool,
            "state": ScanState,
            "total": int | None,
        },
    ),
    "log_in": _ACCOUNT,
    "mark_favourite": _shape("IsFavourite", {"favourite": bool}),
    "names": _shape("SongNames", {"names": [_NAME], "total": int, "next": str | None}),
    "next_song": _OFFER,
    "playlist": _shape("Plan", {"songs": [_OFFER]}) | _JSPF,
    "playlists": _shape("Playlists", {"playlists": [_PLAYLIST]}),
    "problems": _shape(
        "UnreadableFiles",
        {"total offset": int, "folders": [str], "problems": [_UNREADABLE]},
    ),
    "rate_study_song": _STUDY,
    "rules": _shape("Rules", {"rules": [_RULE]}),
    "save_playlist": _PLAYLIST,
    "saved_playlist": _shape("SavedPlaylist", {"songs": [_SONG]}, _PLAYLIST) | _JSPF,
    "scan_progress": Progress,
    "scrobble_to": _TARGET,
    "scrobbling": _shape("ScrobbleTargets", {"targets": [_TARGET]}),
    "session": _shape(
        "Session",
        {"scope": AppScope | None, "guest made_up": bool, "study": Membership | None},
        _ACCOUNT,
    ),
    "set_up": _ACCOUNT,
    "settings": Settings,
    "song": _shape(
        "SongDetails",
        {
            "song": _SONG,
            "expected standard_deviation rating_deviation novelty": float | None,
            "heard_at": Time | None,
            "seq": int,
            "history": _HISTORY,
        },
    ),
    "songs": _shape(
        "Songs",
        {
            "songs": [_SONG],
            "next": str | None,
            "total?": int,
            "duration?": float,
            "expected?": dict[str, float | None],
        },
    ),
    "start_scan": ScanStart,
    "status": _shape(
        "ServerStatus",
        {
            "version": str,
            "store": Literal["sqlite", "postgresql"],
            "store_warning store_failure isolation": str | None,
            "songs missing_songs failed_files accounts uptime_seconds": int,
            "memory_bytes": int | None,
        },
    ),
    "study": _STUDY,
    "study_progress": _shape("Participants", {"study": _PROGRESS | None}),
    "study_song": _STUDY_SONG,
    "submit_listens": _SUBMISSION,
    "submit_listens_at_root": _SUBMISSION,
    "taste": _shape(
        "Taste",
        {
            "counts": profile.Counts,
            "ratings": [profile.RatingPoint],
            "repeats": profile.Repeats | None,
            "recovery": taste.Recovery | None,
            "noise": float | None,
            "uncertainty": [taste.UncertaintyPoint],
            "leanings": [taste.Preference],
            "artists genres": profile.Favourites,
            "sentences": [str],
        },
    ),
    "tell": {201: _STORED, 200: _STORED | _NOT_STORED},
    "users": _shape("Users", {"users": [_USER]}),
    "validate_token": _TOKEN,
    "validate_token_at_root": _TOKEN,
}


class _Exact(GenerateJsonSchema):
    """Schemas of answers: of a dataclass all fields are there, and none is not described."""

    def dataclass_schema(self, schema: Any) -> dict[str, Any]:
        return {**super().dataclass_schema(schema), "additionalProperties": False}

    def field_is_required(self, field: Any, *args: Any, **how: Any) -> bool:
        is_of_dataclass = field["type"] == "dataclass-field"
        return is_of_dataclass or super().field_is_required(field, *args, **how)

    def default_schema(self, schema: Any) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def answer_schemas() -> tuple[dict[tuple[str, int | None], Any], dict[str, Any]]:
    """Return the schemas of answers by operation and status, and those that they refer to.

    The status None is the one of success, where there is one.
    """
    shapes: dict[tuple[str, int | None], Any] = {("", None): PROBLEM}
    for operation, answer in ANSWERS.items():
        each = answer if isinstance(answer, dict) else {None: answer}
        shapes |= {(operation, status): shape for status, shape in each.items()}
    found, named = TypeAdapter.json_schemas(
        [(key, "serialization", TypeAdapter(shape)) for key, shape in shapes.items()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Exact,
    )
    return {key: found[key, "serialization"] for key in shapes}, named["$defs"]
