"""Every kind of export is read as what it is, alone and beside others."""

import gzip
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bandstand_lab.histories import plays
from bandstand_lab.histories.plays import Histories, PlayHistory
from tests.fixtures.lab import history_exports as exports

NOW = 1_800_000_000.0


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read(*paths: Path, apart: bool = False) -> Histories:
    return plays.read(paths, apart=apart, now=NOW)


def only(found: Histories) -> PlayHistory:
    (history,) = found
    return history


def as_first_met(items: np.ndarray[tuple[int], np.dtype[np.intp]]) -> tuple[int, ...]:
    """Return codes numbered in the order of time, whatever the order of the file was."""
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(item, len(numbers)) for item in items.tolist())


@pytest.mark.parametrize("name", exports.ALL)
def test_the_five_plays_are_read_from_every_kind_of_export(name: str, tmp_path: Path) -> None:
    content, kind, left_out = exports.ALL[name]
    found = read(written(tmp_path, "export", content))
    history = only(found)
    assert as_first_met(history.items) == exports.SONGS
    first = 0 if name == "plain-elapsed" else exports.BEGINS[0]
    cut = 10 if name == "spotify-account" else 0  # the end of the skip, cut to the minute
    expected = np.array(exports.BEGINS) - exports.BEGINS[0] + first - cut * (np.arange(5) == 1)
    np.testing.assert_array_equal(history.times, expected)
    (source,) = found.sources
    assert (source.format, source.plays) == (kind, 5)
    assert sum(each.count for each in source.left_out) == left_out
    assert not found.duplicates
    assert not history.times.flags.writeable
    assert not history.items.flags.writeable


@pytest.mark.parametrize("name", ["spotify-account", "spotify-extended", "plain"])
def test_the_time_played_is_read_where_it_is_told(name: str, tmp_path: Path) -> None:
    history = only(read(written(tmp_path, "export", exports.ALL[name][0])))
    np.testing.assert_allclose(history.played, exports.LASTED)


def test_a_skip_is_one_by_the_exports_word_or_by_how_it_ended(tmp_path: Path) -> None:
    history = only(read(written(tmp_path, "export", exports.SPOTIFY_EXTENDED)))
    known = [0.0, 1.0, 0.0, 1.0, math.nan]
    np.testing.assert_array_equal(history.skipped, known)
    history = only(read(written(tmp_path, "export", exports.PLAIN_ISO)))
    np.testing.assert_array_equal(history.skipped, [0.0, 1.0, 0.0, 0.0, math.nan])


@pytest.mark.parametrize("name", exports.ALL)
def test_compressed_and_in_an_archive_it_is_the_same(name: str, tmp_path: Path) -> None:
    content = exports.ALL[name][0].encode()
    plain = only(read(written(tmp_path, "export", content)))
    packed = written(tmp_path, "export.gz", gzip.compress(content))
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("MyData/ReadMeFirst.pdf", b"%PDF-1.7\x00\xff")
        file.writestr("MyData/Playlist1.json", '{"playlists": []}')
        file.writestr("MyData/history", content)
    for found in (read(packed), read(archive)):
        history = only(found)
        np.testing.assert_array_equal(history.items, plain.items)
        np.testing.assert_array_equal(history.times, plain.times)
    assert [name.rsplit("/")[-1] for name in read(archive).ignored] == [
        "Playlist1.json",
        "ReadMeFirst.pdf",
    ]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    for name in ("plain", "lastfm-1k", "spotify-account", "listenbrainz-lines"):
        content = exports.ALL[name][0]
        plain = only(read(written(tmp_path, "a", content)))
        other = b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode()
        changed = only(read(written(tmp_path, "a", other)))
        np.testing.assert_array_equal(changed.times, plain.times)
        np.testing.assert_array_equal(changed.items, plain.items)


def test_songs_with_the_same_names_are_the_same_in_all_services(tmp_path: Path) -> None:
    found = read(
        written(tmp_path, "a", exports.LASTFM),
        written(tmp_path, "b", exports.LISTENBRAINZ_LINES.replace("First Light", "FIRST  light")),
    )
    assert found.plays == 5
    assert found.duplicates == 5
    assert sorted(found.item_names) == [
        "Ada – First Light",
        "Ada – Third, Take",
        "Bo & Co – Second",
    ]


def test_a_play_in_both_of_spotifys_exports_counts_once_and_the_fuller_one_stays(
    tmp_path: Path,
) -> None:
    account = written(tmp_path, "StreamingHistory_music_0.json", exports.SPOTIFY_ACCOUNT)
    extended = written(tmp_path, "Streaming_History_Audio_0.json", exports.SPOTIFY_EXTENDED)
    for order in ((account, extended), (extended, account)):
        found = read(*order)
        assert (found.plays, found.duplicates) == (5, 5)
        history = only(found)
        assert history.times[1] == exports.BEGINS[1]
        assert history.skipped[1] == 1.0


def test_the_same_row_twice_in_one_file_was_played_twice(tmp_path: Path) -> None:
    """A file is believed; only what another file tells as well is the same play."""
    doubled = exports.PLAIN + "x,1709496000,10,180000\n"
    one = written(tmp_path, "one.csv", doubled)
    assert (read(one).plays, read(one).duplicates) == (6, 0)
    other = written(tmp_path, "other.csv", exports.PLAIN)
    both = read(one, other)
    assert (both.plays, both.duplicates) == (6, 5)
    assert (read(other, one, one).plays, read(other, one, one).duplicates) == (6, 11)


def test_overlapping_files_make_one_history_in_order_of_time(tmp_path: Path) -> None:
    header, *rows = exports.PLAIN.splitlines(keepends=True)
    early = written(tmp_path, "early.csv", header + "".join(rows[:4]))
    late = written(tmp_path, "late.csv", header + "".join(reversed(rows[2:])))
    found = read(late, early)
    assert found.duplicates == 2
    np.testing.assert_array_equal(only(found).times, exports.BEGINS)
    assert [source.plays for source in found.sources] == [3, 4]


def test_files_of_nobody_in_particular_are_one_listeners_unless_told_apart(tmp_path: Path) -> None:
    one = written(tmp_path, "one.csv", exports.LASTFM)
    other = written(tmp_path, "other.json", exports.SPOTIFY_ACCOUNT)
    assert len(read(one, other)) == 1
    apart = read(one, other, apart=True)
    assert sorted(history.name for history in apart) == [str(one), str(other)]
    assert apart.duplicates == 0


def test_unnamed_files_belong_to_the_only_account_that_others_name(tmp_path: Path) -> None:
    named = written(
        tmp_path,
        "a.jsonl",
        exports.LISTENBRAINZ_LINES.replace('{"listened', '{"user_name": "ada", "listened'),
    )
    unnamed = written(tmp_path, "b.csv", exports.LASTFM)
    found = read(named, unnamed)
    assert [history.name for history in found] == ["ada"]
    assert found.duplicates == 5
    assert "ada" in found.notes[0]


def test_listeners_of_one_file_are_told_apart_the_busiest_first(tmp_path: Path) -> None:
    content = exports.PLAIN + "y,1709323200,10,1000\n"
    found = read(written(tmp_path, "a.csv", content))
    assert [(history.name, len(history)) for history in found] == [("x", 5), ("y", 1)]


def test_times_from_an_unknown_beginning_are_never_mixed_with_dates(tmp_path: Path) -> None:
    dated = written(tmp_path, "dated.csv", exports.PLAIN)
    elapsed = written(tmp_path, "elapsed.csv", exports.PLAIN_ELAPSED)
    found = read(dated, elapsed)
    assert {history.name: history.is_dated for history in found} == {
        "x": True,
        f"{elapsed}: x": False,
    }
    assert len(found.item_names) == 6


def test_names_may_have_quotes_line_ends_and_any_letters(tmp_path: Path) -> None:
    content = 'time,artist,track\n1,"say ""hi""","two\nlines"\n2,"""","é, ✓"\n3,a\tb,x\n'
    found = read(written(tmp_path, "a.csv", content))
    assert found.item_names == ('say "hi" – two\nlines', '" – é, ✓', "a\tb – x")
    tabs = 'u\t2024-03-03T20:00:00Z\t\t"Heroes"\t\t"It\'s\tme\n'
    found = read(written(tmp_path, "a.tsv", tabs))
    assert found.item_names == ('"Heroes" – "It\'s\tme',)


def test_an_empty_list_beside_another_export_is_no_error(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.json", "[]"), written(tmp_path, "b.csv", exports.PLAIN))
    assert [source.plays for source in found.sources] == [0, 5]
