"""Whatever is wrong with a file is said in one sentence that names the file and the place."""

import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError
from bandstand_lab.histories.plays import read
from tests.fixtures.lab import history_exports as exports

NOW = 1_800_000_000.0
PLAIN = exports.PLAIN
LISTEN = '{"listened_at": 1709496000, "track_metadata": {"artist_name": "A", "track_name": "B"}}'
ACCOUNT = '{"endTime": "2024-03-01 20:03", "artistName": "A", "trackName": "B", "msPlayed": 1}'

BAD: dict[str, tuple[str | bytes, list[str]]] = {
    # content, words of the message
    "empty": ("", ["got an empty file"]),
    "blank": ("\n \n", ["line 2", "expected a header"]),
    "only a header": ("track,time\n", ["got none in"]),
    "an empty list": ("[]", ["got none in"]),
    "no column of songs": ("user,time\nx,1\n", ["line 1", "a column for a song", "'user', 'time'"]),
    "no column of times": ("user,track\nx,1\n", ["line 1", "a column for a time"]),
    "a column twice": ("track,time,Track\n", ["line 1", "'track' twice"]),
    "a short row": (PLAIN + "x,1\n", ["line 7", "expected 4 fields", "got 2"]),
    "a long row": (PLAIN + "x,1,2,3,4\n", ["line 7", "got 5"]),
    "a negative time": (PLAIN + "x,-5,1,1\n", ["line 7", "'-5'"]),
    "a time that is none": (PLAIN + "x,soon,1,1\n", ["line 7", "ISO-8601", "'soon'"]),
    "a time that is not finite": (PLAIN + "x,nan,1,1\n", ["line 7", "'nan'"]),
    "no time": (PLAIN + "x,,1,1\n", ["line 7", "epoch_s must be", "got none"]),
    "a month that is none": (
        exports.LASTFM_BARE + "a,b,c,28 Fab 2016 16:38\n",
        ["line 6", "'28 Fab 2016 16:38'"],
    ),
    "elapsed time below zero": (exports.PLAIN_ELAPSED + "x,1,-1\n", ["line 7", "'-1'"]),
    "a negative time played": (PLAIN + "x,1,1,-1\n", ["line 7", "ms_played", "'-1'"]),
    "a time played that is none": (PLAIN + "x,1,1,1_0\n", ["line 7", "'1_0'"]),
    "skipped perhaps": (exports.PLAIN_ISO + "1,a,b,perhaps\n", ["line 7", "'perhaps'"]),
    "a quote without end": (PLAIN + 'x,1,"1,1\n', ["line 7"]),
    "a letter after a quote": (PLAIN + 'x,1,"1"1,1\n', ["line 7"]),
    "Latin-1": (PLAIN.encode() + b"x,1,caf\xe9,1\n", ["line 7", "UTF-8", "0xe9"]),
    "UTF-16": (PLAIN.encode("utf-16"), ["line 1", "UTF-8"]),
    "a NUL": (PLAIN + "x,1,\0,1\n", ["line 7", "NUL"]),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0", ["line 1"]),
    "a line without end": ("track,time\n" + "a" * (1 << 20), ["line 2", "bytes"]),
    "half a table of Last.fm": (exports.LASTFM_1K + "user_1\t2024-01-01T00:00:00Z\n", ["line 6"]),
    "a list that ends": ("[" + ACCOUNT, ["entry 1 (line 1)", "the end of the file"]),
    "a list that ends in an entry": ("[" + ACCOUNT[:-5], ["entry 1 (line 1)", "end of the file"]),
    "a list with a comma too much": ("[" + ACCOUNT + ",]", ["entry 1 (line 1)", "another entry"]),
    "something after the list": ("[" + ACCOUNT + "]\nx", ["line 2", "after the end", "'x'"]),
    "no comma between": (f"[{ACCOUNT}\n{ACCOUNT}]", ["entry 1 (line 1)", "got '{'"]),
    "a number as an entry": (f"[{ACCOUNT},\n 17]", ["entry 2 (line 2)", "an object", "17"]),
    "broken JSON": (f"[{ACCOUNT},\n\n{{'a': 1}}]", ["entry 2 (line 3)", "property name"]),
    "NaN": (f"[{ACCOUNT[:-2]}NaN}}]", ["entry 1 (line 1)", "NaN"]),
    "a nest": ("[" + '{"a":' * 100_000, ["entry 1 (line 1)", "nest"]),
    "another kind of JSON": ('[{"name": "x"}]', ["entry 1 (line 1)", "'name'"]),
    "an empty object": ("[{}]", ["entry 1 (line 1)", "no keys"]),
    "two kinds in one": (f"{LISTEN}\n{ACCOUNT}", ["entry 2 (line 2)", "ListenBrainz", "'endTime'"]),
    "Latin-1 in JSON": (f"[{ACCOUNT},\n".encode() + b'{"a": "\xe9"}]', ["line 2", "0xe9"]),
    "a text for a number": (
        f'[{ACCOUNT[:-2]}"long"}}]',
        ["entry 1 (line 1)", "msPlayed", "'long'"],
    ),
    "a negative number": (f"[{ACCOUNT[:-2]}-1}}]", ["entry 1 (line 1)", "msPlayed", "-1"]),
    "true for a number": (f"[{ACCOUNT[:-2]}true}}]", ["entry 1", "msPlayed", "True"]),
    "a number too large": (f"[{ACCOUNT[:-2]}1e999}}]", ["entry 1", "msPlayed", "inf"]),
    "a number for a name": (ACCOUNT.replace('"B"', "7"), ["entry 1", "trackName", "7"]),
    "a time of nowhere": (ACCOUNT.replace("20:03", "25:03"), ["entry 1", "endTime", "25:03"]),
    "a listen without time": (LISTEN.replace("1709496000", "null"), ["entry 1", "listened_at"]),
    "a listen of text": (LISTEN.replace("1709496000", '"now"'), ["entry 1", "listened_at"]),
    "a listen without a song": ('{"listened_at": 1, "track_metadata": 1}', ["track_metadata"]),
    "an answer without listens": ('{"payload": {"listens": 3}}', ["a list of listens", "3"]),
    "an answer with a hole": ('{"payload": {"listens": [3]}}', ["listen 1", "an object"]),
}


def refused(path: Path, *words: str) -> str:
    with pytest.raises(InvalidInputError) as caught:
        read([path], now=NOW)
    message = str(caught.value)
    assert str(path) in message
    assert len(message) < 400
    for word in words:
        assert word in message, message
    return message


def as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_named_with_its_place(name: str, tmp_path: Path) -> None:
    content, words = BAD[name]
    path = tmp_path / "history"
    path.write_bytes(as_bytes(content))
    refused(path, *words)


@pytest.mark.parametrize("name", [name for name in BAD if name not in {"empty", "an empty list"}])
def test_a_damaged_history_in_an_archive_is_not_passed_over(name: str, tmp_path: Path) -> None:
    content, _ = BAD[name]
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", PLAIN)
        archive.writestr("StreamingHistory_music_0.json", as_bytes(content))
    if name in {"only a header", "another kind of JSON", "an empty object"}:
        assert read([path], now=NOW).plays == 5
    else:
        refused(path, "StreamingHistory_music_0.json")


def test_a_compressed_file_that_is_cut_short_is_refused_wherever_it_ends(tmp_path: Path) -> None:
    whole = gzip.compress(PLAIN.encode())
    path = tmp_path / "history.csv.gz"
    for length in range(2, len(whole)):
        path.write_bytes(whole[:length])
        refused(path, "compressed file")
    path.write_bytes(whole[:-8] + b"\0" * 8)
    refused(path, "CRC")


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("history.csv", PLAIN)
    whole = content.getvalue()
    path = tmp_path / "export.zip"
    path.write_bytes(whole[: len(whole) // 2])
    refused(path, "ZIP")
    place = whole.index(b"history.csv") + len("history.csv") + 4
    path.write_bytes(whole[:place] + b"\xff\xff\xff" + whole[place + 3 :])
    refused(path, "history.csv")


def test_an_archive_without_a_history_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("Playlist1.json", '{"playlists": []}')
        archive.writestr("notes.txt", "nothing here")
    refused(path, "an archive with a listening history")


@pytest.mark.parametrize("packer", ["gz", "zip"])
def test_a_bomb_is_refused_before_it_fills_anything(
    packer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal rows shrink 500-fold; those of real histories 30-fold at most."""
    monkeypatch.setattr("bandstand.music.histories.files._ALLOWED_BYTES", 1 << 18)
    path = tmp_path / f"history.{packer}"
    row, count = b"x,1709323200,10,180000\n" * 1_000, 300
    if packer == "gz":
        with gzip.open(path, "wb", compresslevel=6) as file:
            file.write(b"listener,epoch_s,track,ms_played\n")
            for _ in range(count):
                file.write(row)
    else:
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open("history.csv", "w") as member,
        ):
            member.write(b"listener,epoch_s,track,ms_played\n")
            for _ in range(count):
                member.write(row)
    refused(path, "200 times its size")


def test_a_bomb_without_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.gz"
    path.write_bytes(gzip.compress(b"0" * (1 << 25)))
    refused(path, "line 1")
    path.write_bytes(gzip.compress(b'[{"a": "' + b"0" * (1 << 25)))
    refused(path, "200 times its size")


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "nowhere.csv", "expected a file that can be read")
    refused(tmp_path, "expected a file that can be read")


def test_an_archive_with_a_password_is_refused(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("history.csv", PLAIN)
    data = bytearray(content.getvalue())
    for sign, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(sign) + flags] |= 1  # says that it is encrypted
    path = tmp_path / "export.zip"
    path.write_bytes(bytes(data))
    refused(path, "password")


@pytest.mark.parametrize(
    ("content", "reason", "first"),
    [
        (PLAIN + "x,1999999999,1,1\n", "in the future", "line 7"),
        (exports.PLAIN_ISO + "1870-01-01,a,b,\n", "before 1877", "line 7"),
        (exports.LASTFM_BARE + "a,b,c,01 Jan 1970 00:00\n", "before 2002", "line 6"),
        (exports.LISTENBRAINZ_LINES + LISTEN.replace("1709496000", "0"), "before 2002", "entry 6"),
        (exports.SPOTIFY_EXTENDED.replace("2024-03-03", "2099-03-03"), "in the future", "entry 6"),
    ],
)
def test_moments_that_cannot_be_true_are_left_out_and_counted(
    content: str, reason: str, first: str, tmp_path: Path
) -> None:
    path = tmp_path / "history"
    path.write_text(content, encoding="utf-8")
    found = read([path], now=NOW)
    reasons = {each.reason: each for each in found.sources[0].left_out}
    (name,) = [each for each in reasons if reason in each]
    assert reasons[name].count == 1
    assert reasons[name].first.startswith(first)
    assert found.plays + sum(each.count for each in reasons.values()) >= 6


def test_entries_without_a_song_are_left_out_with_their_reason(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    nameless = {"ts": "2024-03-01T20:00:00Z", "ms_played": 5, "master_metadata_track_name": None}
    book = {**nameless, "audiobook_title": "A Book"}
    song = {
        **nameless,
        "master_metadata_track_name": "Song",
        "master_metadata_album_artist_name": "Artist",
    }
    path.write_text(json.dumps([nameless, book, book, song]), encoding="utf-8")
    found = read([path], now=NOW)
    left_out = {each.reason: (each.count, each.first) for each in found.sources[0].left_out}
    assert left_out == {
        "podcasts, audiobooks and videos": (2, "entry 2 (line 1)"),
        "without the name of a song": (1, "entry 1 (line 1)"),
    }
    assert found.plays == 1


def test_songs_that_spotify_has_no_name_for_are_not_one_song(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    nameless = ACCOUNT.replace('"A"', '"Unknown Artist"').replace('"B"', '"Unknown Track"')
    path.write_text(f"[{ACCOUNT}, {nameless}, {nameless}]", encoding="utf-8")
    found = read([path], now=NOW)
    assert found.plays == 1
    assert found.sources[0].left_out[0].count == 2


def read_or_refused(path: Path) -> int:
    """Return how many plays were read, or 1 if the file was refused by its name."""
    try:
        return read([path], now=NOW).plays
    except InvalidInputError as problem:
        return int(str(path) in str(problem))


@given(
    st.binary(max_size=300),
    st.sampled_from([b"", b"[", b"{", PLAIN.encode(), b"\x1f\x8b", b"PK\x03\x04"]),
)
def test_any_bytes_are_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, beginning: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(beginning + content)
    assert read_or_refused(path)


@given(st.integers(0, 2_000), st.binary(min_size=1, max_size=3))
@pytest.mark.parametrize("name", ["spotify-extended", "listenbrainz-lines", "lastfm", "lastfm-1k"])
def test_a_damaged_byte_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, at: int, damage: bytes
) -> None:
    whole = exports.ALL[name][0].encode()
    place = at % len(whole)
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(whole[:place] + damage + whole[place + len(damage) :])
    assert 1 <= read_or_refused(path) <= 6
