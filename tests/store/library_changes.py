"""What can happen to the songs of a store, drawn: they come, go, relocate, break and change."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hypothesis import strategies as st

from bandstand.music.audio.descriptors.definition import VERSION
from bandstand.store.songs import files, scans
from bandstand.store.songs.save_analysis import record_analyses, record_problem, relocate
from tests.store.examples import analysis

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bandstand.types import Matrix

PLACES = 12
Event: TypeAlias = tuple[str, int, int]

events = st.lists(
    st.tuples(
        st.sampled_from(["read", "read", "rename", "outdated", "break", "lose", "find", "move"]),
        st.integers(0, PLACES - 1),
        st.integers(0, PLACES - 1),
    ),
    min_size=1,
    max_size=12,
)


def path(place: int) -> bytes:
    return b"/music/%02d.mp3" % place


def happen(connection: Connection, event: Event, descriptors: Matrix) -> None:
    """Let one thing happen to the file at a place; `other` is a place, or what is in it."""
    kind, place, other = event
    number = scans.begin(connection, now=1)
    known = files.in_folder(connection, b"/music")
    if kind in {"read", "rename", "outdated"}:
        version = VERSION + 1 if kind == "outdated" else VERSION
        content = place if kind == "rename" else other
        title = f"Song {place} {other}" if kind == "rename" else "A song"
        found = analysis(
            content,
            title=title,
            artist=f"Artist {other % 3}",
            year=1990 + place + other if kind == "rename" else None,
            descriptors=descriptors[content],
            version=version,
        )
        record_analyses(connection, [(path(place), found)], scan=number, now=1)
    elif kind == "break":
        record_problem(
            connection,
            path(place),
            size=1,
            modified_ns=1,
            reason="no sound",
            version=VERSION,
            scan=number,
        )
    elif kind == "lose":
        files.mark_seen(connection, [it for it in known if it != path(place)], number)
        files.mark_missing(connection, b"/music", number)
    elif kind == "find":
        files.mark_seen(connection, [path(place)], number)
    elif place != other and getattr(known.get(path(place)), "song_id", None) is not None:
        relocate(connection, path(place), path(other), size=1, modified_ns=1, scan=number)
