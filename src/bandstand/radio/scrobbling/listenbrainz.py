"""The protocol of ListenBrainz: requests to a server of that kind, and what its answers mean.

The address of a server ends before `/1`: https://api.listenbrainz.org, or that of Koito, Maloja,
multi-scrobbler or another Bandstand.

answer                         what was sent
2xx with {"status": "ok"}      is delivered
none, 408, 425, 429, 5xx       is sent again, after a wait that grows
401, 403                       the same: the token may be replaced
3xx, 404, 405, a strange 2xx   the same: the address may be wrong, or a proxy in the way
any other                      is refused: the same would be refused again
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from bandstand import __version__
from bandstand.radio.scrobbling.outgoing import artist_of
from bandstand.radio.scrobbling.transport import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.radio.scrobbling.outgoing import Outgoing
    from bandstand.radio.scrobbling.transport import Answer
    from bandstand.store.scrobble_targets import Target
    from bandstand.store.songs.songs import SongRecord

MAX_PLAYS: Final = 100  # in a request; ListenBrainz takes 1,000

_FIRST_WAIT: Final = 30  # seconds, twice as long after each failure …
_LONGEST_WAIT: Final = 6 * 3_600
_LONGEST_ASKED: Final = 24 * 3_600  # … or as long as the server asks for
_PASSING: Final = frozenset({401, 403, 404, 405, 408, 425, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a request."""

    outcome: Literal["delivered", "again", "refused"]
    reason: str = ""
    asked_seconds: int = 0  # to wait, by the server's own word


def delivery(target: Target, items: Sequence[Outgoing]) -> Request:
    """Return the request that submits plays, or that loves a song, or no longer."""
    if items[0].is_loved is not None:
        mbid = items[0].song.tags.recording_mbid
        body = {"recording_mbid": mbid, "score": int(items[0].is_loved)}
        return _post(target, "feedback/recording-feedback", body)
    listens = [
        {"listened_at": it.began_at, "track_metadata": _track(it.song, it.seconds)} for it in items
    ]
    kind = "single" if len(items) == 1 else "import"
    return _post(target, "submit-listens", {"listen_type": kind, "payload": listens})


def now_playing(target: Target, song: SongRecord) -> Request:
    """Return the request that says what plays now."""
    listens = [{"track_metadata": _track(song)}]
    return _post(target, "submit-listens", {"listen_type": "playing_now", "payload": listens})


def verdict(answer: Answer, *, is_love: bool = False) -> Verdict:
    """Return what came of a request. A server that knows no feedback refuses it for good."""
    status, reason = answer.status, f"it answers with status {answer.status}"
    if 200 <= status < 300:
        if _is_ok(answer.body):
            return Verdict(outcome="delivered")
        return Verdict(outcome="again", reason="its answer is not one of ListenBrainz")
    if is_love and status in {404, 405, 501}:
        return Verdict(outcome="refused", reason="it takes no favourites")
    if 400 <= status < 500 and status not in _PASSING:
        return Verdict(outcome="refused", reason=reason)
    meanings = {401: ", as to a wrong token", 404: ", as at a wrong address", 429: ": wait"}
    reason += meanings.get(status, "")
    return Verdict(outcome="again", reason=reason, asked_seconds=_asked_seconds(answer))


def wait_seconds(failures: int, asked: int = 0) -> int:
    """Return the seconds to wait after `failures` in a row; the server names `asked`.

    >>> [wait_seconds(number) for number in (1, 2, 3, 99)], wait_seconds(1, 100)
    ([30, 60, 120, 21600], 100)
    """
    return max(min(_FIRST_WAIT << min(failures - 1, 16), _LONGEST_WAIT), asked)


def _asked_seconds(answer: Answer) -> int:
    asked = answer.headers.get("Retry-After")
    if asked is None and answer.status == 429:
        asked = answer.headers.get("X-RateLimit-Reset-In")
    return min(int(asked[:9]), _LONGEST_ASKED) if asked and asked.isdecimal() else 0


def _is_ok(body: bytes) -> bool:
    with suppress(ValueError, RecursionError):
        found = json.loads(body)
        return isinstance(found, dict) and found.get("status") == "ok"
    return False


def _track(song: SongRecord, seconds: int | None = None) -> dict[str, Any]:
    tags = song.tags
    info = {
        "media_player": "Bandstand",
        "submission_client": "Bandstand",
        "submission_client_version": __version__,
        "duration_ms": round(1_000 * song.duration),
        "duration_played": seconds,
        "recording_mbid": tags.recording_mbid,
        "release_mbid": tags.release_mbid,
        "artist_mbids": tags.artist_mbid and [tags.artist_mbid],
        "tracknumber": tags.track,
    }
    track = {"artist_name": artist_of(song), "track_name": tags.title, "release_name": tags.album}
    return {**_known(track), "additional_info": _known(info)}


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _post(target: Target, path: str, body: Any) -> Request:
    headers = {
        "Authorization": f"Token {target.token}",
        "Content-Type": "application/json",
        "User-Agent": f"Bandstand/{__version__}",
    }
    text = json.dumps(body, ensure_ascii=False).encode()
    return Request(url=f"{target.url}/1/{path}", headers=headers, body=text)
