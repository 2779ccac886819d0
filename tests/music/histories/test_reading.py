"""What files of other programs say is imported as what it is, and the rest is accounted for."""

import gzip
import plistlib
import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bandstand.errors import InvalidInputError
from bandstand.music.histories.matching import NO_ARTIST, NO_SUCH_ARTIST, NO_SUCH_SONG, Library
from bandstand.music.histories.reading import read_history, read_upload
from bandstand.store.events.imports import (
    COUNT,
    FAVOURITE,
    LISTEN,
    RATING,
    SKIP,
    UNKNOWN,
    Segment,
)
from tests.fixtures.lab import history_exports as exports
from tests.music.histories.test_matching import MBID, facts

NOW = 1_800_000_000_000
LIBRARY = Library(
    [
        facts(1, "First Light", "Ada"),
        facts(2, "Second", "Bo & Co"),
        facts(3, "Third, Take", "Ada", recording_mbid=MBID),
    ]
)


def written(folder: Path, content: str | bytes, name: str = "plays.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: Path, **options: Any) -> Segment:
    return read_history(paths, LIBRARY, now=NOW, **options)


def rows(segment: Segment) -> list[tuple[int, int, int, int]]:
    """Return the number of the song, the time, the kind and the value of each row."""
    numbers = [int(song, 16) for song in segment.songs.tolist()]
    names = ("song", "at", "kind", "value")
    found = segment.rows[list(names)].tolist()
    return [(numbers[song], at, kind, value) for song, at, kind, value in found]


@pytest.mark.parametrize("name", sorted(set(exports.ALL) - {"plain", "plain-elapsed"}))
def test_every_kind_of_export_has_the_same_plays(name: str, tmp_path: Path) -> None:
    content, form, left_out = exports.ALL[name]
    segment = read(written(tmp_path, content))
    report = segment.report
    assert [song for song, *_ in rows(segment)] == [1, 2, 1, 3, 1]
    assert [file["format"] for file in report["files"]] == [form]
    assert (report["matched"], report["plays"], report["songs"]) == (5, 5, 3)
    assert report["read"] - report["matched"] == left_out
    assert sum(report["files"][0]["left_out"].values()) == left_out


def test_skips_are_those_of_the_export_or_short_plays(tmp_path: Path) -> None:
    extended = rows(read(written(tmp_path, exports.SPOTIFY_EXTENDED)))
    assert [kind for _, _, kind, _ in extended] == [LISTEN, SKIP, LISTEN, SKIP, LISTEN]
    assert extended[1] == (2, exports.BEGINS[1], SKIP, 10_000)
    account = rows(read(written(tmp_path, exports.SPOTIFY_ACCOUNT)))
    assert [kind for _, _, kind, _ in account] == [LISTEN, SKIP, LISTEN, LISTEN, LISTEN]
    listens = rows(read(written(tmp_path, exports.LASTFM)))
    assert {(kind, value) for _, _, kind, value in listens} == {(LISTEN, UNKNOWN)}


def test_a_table_may_have_stars_and_recordings(tmp_path: Path) -> None:
    table = f"""time,artist,track,rating,recording_mbid
2024-03-01T20:00:00Z,Ada,First Light,4.5,
2024-03-02T20:00:00Z,x,y,2,{MBID}
2024-03-03T20:00:00Z,Ada,First Light,87,
2024-03-04T20:00:00Z,Ada,First Light,,
"""
    segment = read(written(tmp_path, table))
    assert [row[2:] for row in rows(segment)] == [(RATING, 45), (RATING, 20), (LISTEN, UNKNOWN)]
    assert segment.report["ways"] == {"mbid": 1, "name": 2}
    assert sum(segment.report["files"][0]["left_out"].values()) == 1


def test_what_is_not_found_is_counted_with_its_reason_and_examples(tmp_path: Path) -> None:
    table = """time,artist,track
1,Ada,Unknown
2,Ada,Unknown
3,Cy,First Light
4,,First Light
5000000000,Ada,First Light
6,Ada,First Light
"""
    report = read(written(tmp_path, table)).report
    found = {each["reason"]: (each["plays"], each["examples"]) for each in report["unmatched"]}
    assert found[NO_SUCH_SONG] == (2, ["Ada – Unknown"])
    assert found[NO_SUCH_ARTIST] == (1, ["Cy – First Light"])
    assert found.get(NO_ARTIST, (1, None))[0] == 1
    (file,) = report["files"]
    assert report["read"] == 6
    assert report["matched"] == 1
    assert sum(file["left_out"].values()) + sum(n for n, _ in found.values()) == 5
    assert (file["name"], len(file["sha256"])) == ("plays.csv", 64)


def test_the_plays_of_several_people_need_a_name(tmp_path: Path) -> None:
    table = "user,time,artist,track\nann,1,Ada,First Light\nBo,2,Ada,First Light\n"
    path = written(tmp_path, table)
    with pytest.raises(InvalidInputError, match="of one listener, got those of Bo, ann"):
        read(path)
    assert [at for _, at, *_ in rows(read(path, listener="bo"))] == [2]


def test_times_without_a_date_are_refused(tmp_path: Path) -> None:
    content, _, _ = exports.ALL["plain-elapsed"]
    with pytest.raises(InvalidInputError, match="with a date"):
        read(written(tmp_path, content))


# ── Libraries of other programs ──────────────────────────────────────────────────────────

_NAVIDROME = """
CREATE TABLE user (id TEXT, user_name TEXT);
CREATE TABLE media_file (id TEXT, title TEXT, artist TEXT, album TEXT, duration REAL,
    mbz_recording_id TEXT);
CREATE TABLE annotation (user_id TEXT, item_id TEXT, item_type TEXT, play_count INTEGER,
    play_date TEXT, rating INTEGER, starred BOOL, starred_at TEXT, rated_at TEXT);
CREATE TABLE scrobbles (media_file_id TEXT, user_id TEXT, submission_time INTEGER);
INSERT INTO user VALUES ('u', 'ann'), ('v', 'bo');
INSERT INTO media_file VALUES ('a', 'First Light', 'Ada', 'One', 180.5, ''),
    ('b', 'Second', 'Bo & Co', '', 0, NULL);
INSERT INTO annotation VALUES
    ('u', 'a', 'media_file', 7, '2024-03-02 20:00:00+00:00', 4, 1, '2024-03-01T10:00:00Z', NULL),
    ('u', 'b', 'media_file', 0, NULL, 0, 0, NULL, NULL),
    ('v', 'b', 'media_file', 9, '2024-03-05 20:00:00+00:00', 2, 0, NULL, '2024-03-06 20:00:00'),
    ('u', 'x', 'album', 9, '2024-03-05 20:00:00+00:00', 2, 0, NULL, NULL);
INSERT INTO scrobbles VALUES ('b', 'u', 1709409600), ('b', 'v', 1709409601);
"""


def navidrome(folder: Path, *, is_old: bool = False) -> Path:
    path = folder / "navidrome #1.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(_NAVIDROME)
        if is_old:
            database.executescript(
                "ALTER TABLE annotation DROP COLUMN rated_at; DROP TABLE scrobbles;"
                "ALTER TABLE media_file RENAME COLUMN mbz_recording_id TO mbz_track_id;"
            )
    return path


def test_navidrome_has_counts_stars_favourites_and_plays(tmp_path: Path) -> None:
    segment = read(navidrome(tmp_path), listener="Ann")
    second = int(datetime(2024, 3, 2, 20, tzinfo=UTC).timestamp())
    first = int(datetime(2024, 3, 1, 10, tzinfo=UTC).timestamp())
    assert rows(segment) == [
        (1, first, FAVOURITE, 1),
        (1, second, RATING, 40),
        (1, second, COUNT, 7),
        (2, second, LISTEN, UNKNOWN),
    ]
    assert (segment.report["plays"], segment.report["ratings"]) == (1, 1)


def test_an_older_navidrome_has_fewer_columns(tmp_path: Path) -> None:
    segment = read(navidrome(tmp_path, is_old=True), listener="bo")
    assert [row[2:] for row in rows(segment)] == [(RATING, 20), (COUNT, 9)]


def test_a_database_is_read_only_where_its_owner_is_trusted(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="expected no database here"):
        read_upload(navidrome(tmp_path), "a", LIBRARY, now=NOW, listener="ann")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    with pytest.raises(InvalidInputError, match="expected the database of Navidrome"):
        read(other)
    damaged = written(tmp_path, other.read_bytes()[:200], "cut.db")
    with pytest.raises(InvalidInputError, match="expected the database of Navidrome"):
        read(damaged)


def itunes(folder: Path, *tracks: dict[str, Any]) -> Path:
    named = {str(number): track for number, track in enumerate(tracks)}
    return written(folder, plistlib.dumps({"Tracks": named}), "Library.xml")


def test_itunes_has_counts_stars_and_favourites(tmp_path: Path) -> None:
    played = datetime(2024, 3, 2, 20)  # noqa: DTZ001  # as plistlib reads UTC
    added = datetime(2020, 3, 2, 20)  # noqa: DTZ001
    song = {"Name": "First Light", "Artist": "Ada", "Total Time": 180_000}
    path = itunes(
        tmp_path,
        {**song, "Play Count": 12, "Play Date UTC": played, "Rating": 70, "Loved": True},
        {"Name": "Second", "Artist": "Bo & Co", "Rating": 100, "Date Added": added},
        {"Name": "Third, Take", "Artist": "Ada", "Rating": 60, "Rating Computed": True},
        {**song, "Podcast": True, "Play Count": 3, "Play Date UTC": played},
        {"Name": 7, "Artist": "Ada", "Rating": 60, "Date Added": added},
    )
    at = int(played.replace(tzinfo=UTC).timestamp())
    old = int(added.replace(tzinfo=UTC).timestamp())
    segment = read_upload(path, "Library.xml", LIBRARY, now=NOW)
    assert rows(segment) == [
        (2, old, RATING, 50),
        (1, at, RATING, 35),
        (1, at, FAVOURITE, 1),
        (1, at, COUNT, 12),
    ]
    assert segment.report["unmatched"][0]["plays"] == 1


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0"?><plist version="1.0"><dict/></plist>',
        b'<?xml version="1.0"?><plist version="1.0"><dict><key>Tracks</key>',
        (
            b'<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
            b'<plist version="1.0"><dict><key>Tracks</key><string>&b;</string></dict></plist>'
        ),
        b"bplist00 and no more",
    ],
)
def test_damage_and_entities_are_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="expected a library of iTunes"):
        read(written(tmp_path, content, "Library.xml"))


def test_the_same_files_give_the_same_digest(tmp_path: Path) -> None:
    path = written(tmp_path, exports.SPOTIFY_EXTENDED)
    assert read(path).digest == read(path).digest != read(path, path).digest


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_of_an_upload_only_so_much_is_unpacked(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = exports.SPOTIFY_EXTENDED.encode()
    path = tmp_path / "plays"
    if kind == "gz":
        path.write_bytes(gzip.compress(content))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("endsong_0.json", content)
    limit = "bandstand.music.histories.reading.MAX_UNPACKED_BYTES"
    monkeypatch.setattr(limit, len(content))
    report = read_upload(path, "mine.zip", LIBRARY, now=NOW).report
    assert report["matched"] == 5
    assert report["files"][0]["name"].startswith("mine.zip")
    monkeypatch.setattr(limit, len(content) - 1)
    with pytest.raises(InvalidInputError, match="bytes"):
        read_upload(path, "mine.zip", LIBRARY, now=NOW)
