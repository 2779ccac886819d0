"""Requests to a child and its answers, none of which is taken on trust."""

import json
import math
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.errors import InvalidInputError, UnreadableAudioError
from bandstand.music.audio.descriptors.definition import NAMES, VERSION
from bandstand.music.library.analyse import analyse, checked, request
from bandstand.music.library.analysers import NO_FFMPEG, LocalAnalyser, judged, may_have_passed
from bandstand.music.sandbox import Answer, Limits
from bandstand.music.sandbox.protocol import ended, out_of_time
from bandstand.types import Analysis, Tags
from tests.fixtures.music.audio_files import make

UUID = "f205627f-b70a-409d-adbe-66289b614e80"
TAGS: dict[str, Any] = {
    "title": "A “title” with ünïcödé",
    "year": 1999,
    "track_gain": -7.5,
    "recording_mbid": UUID,
    "cover": "image/jpeg",
}
HUGE = 10**400  # larger than any float
# Whatever is not a number, a text or a list of numbers, and numbers of the wrong kind.
NOTHING = [None, True, "1", [], {}, [1], {"a": 1}]
NO_NUMBERS = [*NOTHING, math.nan, math.inf, -math.inf, HUGE, -HUGE]


def answer(**changes: Any) -> dict[str, Any]:
    """Return the answer of an honest child, with some fields as given."""
    honest = {
        "tags": asdict(Tags(**TAGS)),
        "duration": 123.5,
        "descriptors": [float(number) for number in range(len(NAMES))],
        "version": VERSION,
        "fingerprint": "0123456789abcdef" * 2,
        "size": 1_000,
        "modified_ns": 1_700_000_000_000_000_000,
    }
    return {**honest, **changes}


def with_tag(name: str, value: object) -> dict[str, Any]:
    return answer(tags={**asdict(Tags()), name: value})


def one_bad(value: object) -> list[object]:
    return [*answer()["descriptors"][:-1], value]


def refuse(given_one: Any) -> None:
    with pytest.raises(InvalidInputError, match="an analysis of version"):
        checked(given_one)
    reason = judged(Answer(value=given_one))
    assert isinstance(reason, str)
    assert len(reason.splitlines()) == 1


def test_an_honest_answer_becomes_an_analysis() -> None:
    analysis = checked(json.loads(json.dumps(answer())))
    assert analysis.tags == Tags(**TAGS)
    assert analysis.descriptors.tolist() == answer()["descriptors"]
    assert not analysis.descriptors.flags.writeable
    rest = {field.name for field in fields(Analysis)} - {"tags", "descriptors"}
    assert {name: getattr(analysis, name) for name in rest} == {
        name: answer()[name] for name in rest
    }


@pytest.mark.parametrize("name", sorted(answer()))
def test_nothing_may_lack(name: str) -> None:
    refuse({key: value for key, value in answer().items() if key != name})
    refuse({})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("duration", [*NO_NUMBERS, -1, -1e-9, 1e10]),
        ("version", [*NO_NUMBERS, 1.0, VERSION + 1, VERSION - 1]),
        ("size", [*NO_NUMBERS, 1.0, -1, 2**63]),
        ("modified_ns", [*NO_NUMBERS, 1.0, -(2**63) - 1, 2**63]),
        ("fingerprint", [*NOTHING, "", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "０" * 32, 5]),
        ("tags", [*NOTHING, sorted(asdict(Tags())), 5, "title"]),
        ("tags", [{}, {**asdict(Tags()), "more": None}]),
        ("tags", [{k: v for k, v in asdict(Tags()).items() if k != "title"}]),
        ("descriptors", [*NOTHING, 5, "x" * len(NAMES), dict.fromkeys(NAMES, 1.0)]),
        ("descriptors", [[0.0] * (len(NAMES) - 1), [0.0] * (len(NAMES) + 1)]),
        ("descriptors", [one_bad(value) for value in [*NO_NUMBERS, 1e301]]),
    ],
)
def test_each_field_that_cannot_be_is_refused(name: str, values: list[object]) -> None:
    for value in values:
        refuse(answer(**{name: value}))


BAD_TEXTS = ["", "a\0b", "two\nlines", "\x1b[2J", "\ud800", "x" * 501, 5, 5.0, True, ["a"]]
GOOD_TEXTS = ["x", " ", "x" * 500, "音楽", "🎵", "\u202eleft"]
BAD_NUMBERS = [-1, 1.0, "1", True, HUGE, 2**32, math.nan]
BAD_GAINS = [math.nan, math.inf, "1", True, HUGE, -HUGE, 1e4]
BAD_SHAPES = ["x", UUID.upper(), f"{UUID}\n", f" {UUID}", "text/html", 'image/"><b', 5]
TAG_VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "title artist album album_artist genre": (BAD_TEXTS, GOOD_TEXTS),
    "year track disc": (BAD_NUMBERS, [7]),
    "track_gain track_peak album_gain album_peak": (BAD_GAINS, [-7.0]),
    "recording_mbid release_mbid artist_mbid": (BAD_SHAPES, [UUID]),
    "cover": ([*BAD_SHAPES, "image/webp\n"], ["image/webp"]),
}


@pytest.mark.parametrize("names", TAG_VALUES)
def test_a_tag_that_cannot_be_is_refused(names: str) -> None:
    bad, good = TAG_VALUES[names]
    for name in names.split():
        for value in bad:
            refuse(with_tag(name, value))
        for value in good:
            assert getattr(checked(with_tag(name, value)).tags, name) == value


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@given(name=st.sampled_from(sorted(answer())), value=_json)
def test_whatever_comes_is_an_analysis_or_refused(name: str, value: object) -> None:
    found = judged(Answer(value=answer(**{name: value})))
    assert isinstance(found, str | Analysis)


@given(path=st.binary(min_size=1), root=st.none() | st.binary())
def test_a_request_is_plain_json_and_keeps_every_byte(path: bytes, root: bytes | None) -> None:
    wanted = json.loads(json.dumps(request(path, root=root)))
    assert wanted["path"].encode("latin-1") == path
    assert (None if root is None else wanted["root"].encode("latin-1")) == root


def test_children_answer_exactly_as_this_process_does(tmp_path: Path) -> None:
    path = make(tmp_path / "a.mp3", seconds=2, tags={"title": "Song", "artist": "Band"})
    broken = tmp_path / "b.mp3"
    broken.write_bytes(b"no music")
    wanted = {bytes(p): request(bytes(p), root=bytes(tmp_path)) for p in (path, broken)}
    with LocalAnalyser(workers=2) as analyser:
        found = dict(analyser.run(wanted.items()))
    here = checked(analyse(wanted[bytes(path)]))
    there = found[bytes(path)]
    assert isinstance(there, Analysis)
    assert there.descriptors.tobytes() == here.descriptors.tobytes()
    assert there.tags == here.tags
    with pytest.raises(UnreadableAudioError) as refusal:
        analyse(wanted[bytes(broken)])
    assert found[bytes(broken)] == str(refusal.value)


def test_modules_come_back_with_a_reason_where_there_is_no_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandstand.music.library.analysers._MAX_POSTPONED", 2)
    monkeypatch.setattr("shutil.which", lambda _: None)
    paths = [tmp_path / f"{number}.it" for number in range(5)]
    for path in paths:
        path.write_bytes(b"IMPM" + bytes(1_000))
    assert analyse(request(bytes(paths[0]))) == {"needs": "program"}
    with LocalAnalyser(workers=2) as analyser:
        found = dict(analyser.run((bytes(p), request(bytes(p))) for p in paths))
    assert set(found) == {bytes(path) for path in paths}
    assert all("found no ffmpeg" in str(reason) for reason in found.values())


@pytest.mark.parametrize(
    ("reason", "passes"),
    [
        ("it was gone when it was to be read", True),
        ("it may not be read: permission denied", True),
        ("it cannot be opened: too many open files", True),
        ("the file could not be read: Input/output error", True),
        (ended(-9, "", Limits()).reason, True),
        ("no sound in it", False),
        (out_of_time(Limits()).reason, False),
        (ended(-11, "", Limits()).reason, False),
    ],
)
def test_only_a_reason_of_the_moment_may_have_passed(reason: str, *, passes: bool) -> None:
    assert may_have_passed(reason) == passes


@pytest.mark.parametrize("place", [None, "/usr/bin/ffmpeg"])
def test_a_module_is_tried_again_with_ffmpeg(
    monkeypatch: pytest.MonkeyPatch, place: str | None
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: place)
    assert may_have_passed(NO_FFMPEG) == (place is not None)
