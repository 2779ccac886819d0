"""`bandstand simulate`: its words, files, numbers and refusals."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bandstand.music.catalogue.refresh import refreshed
from bandstand.store.database.connection import open_store
from bandstand.store.songs.save_analysis import record_analyses
from bandstand_lab.report.figures import ALGORITHM_LOOKS
from bandstand_lab.simulation.experiment import Experiment, run_experiment
from bandstand_lab.simulation.worlds import GaussianWorld
from tests.fixtures.cli.run_command import assert_refused, run
from tests.fixtures.music.descriptor_tables import library
from tests.fixtures.store.examples import analysis

SMALL = ("simulate", "--songs", "20", "--features", "3", "--steps", "8", "--runs", "3")
PAIR = ("--algorithm", "random", "--algorithm", "bayes-ucb-cn-x")
HERE = ("--workers", "1")


def numbers(*args: str | Path) -> dict[str, Any]:
    """Return the JSON of a run that succeeds."""
    code, out, err = run(*args, "--json", "-")
    assert (code, err) == (0, "")
    document: dict[str, Any] = json.loads(out)
    return document


def lasting(document: dict[str, Any]) -> str:
    """Return what follows from the seed, as text."""
    return json.dumps(
        {name: value for name, value in document.items() if name not in {"times", "machine"}}
    )


# ── What comes out ───────────────────────────────────────────────────────────────────────


def test_the_numbers_are_those_of_the_experiment() -> None:
    document = numbers(*SMALL, *PAIR, *HERE, "--noise", "0.3", "--scale", "norm", "--seed", "5")
    world = GaussianWorld(songs=20, features=3, scale="norm", noise_standard_deviation=0.3)
    names = ("random", "bayes-ucb-cn-x")
    outcome = run_experiment(Experiment(world=world, algorithms=names, runs=3, steps=8, seed=5))
    for name in names:
        regrets = outcome.regret(name)
        assert document["curves"][name]["mean"] == regrets.mean(axis=0).tolist()
        (last,) = [
            each for each in document["regret"] if each["algorithm"] == name and each["step"] == 8
        ]
        assert last["mean"] == pytest.approx(regrets[:, -1].mean())
        assert last["standard_error"] == pytest.approx(regrets[:, -1].std(ddof=1) / np.sqrt(3))
    assert document["experiment"] | {"clock": 0} == {
        "world": world.describe(),
        "algorithms": list(names),
        "runs": 3,
        "steps": 8,
        "seed": 5,
        "clock": 0,
    }


def test_names_may_be_given_with_commas_and_all_is_all() -> None:
    tiny = ("simulate", "--songs", "4", "--features", "2", "--steps", "1", "--runs", "1", *HERE)
    asked = numbers(*tiny, "--algorithm", "random, linucb-c", "--algorithm", "greedy-cn-x")
    assert asked["experiment"]["algorithms"] == ["random", "linucb-c", "greedy-cn-x"]
    everything = numbers(*tiny, "--algorithm", "all")
    assert set(everything["experiment"]["algorithms"]) == set(ALGORITHM_LOOKS)


def test_one_listener_and_one_song_are_enough_for_words_and_numbers(tmp_path: Path) -> None:
    tiny = ("simulate", "--songs", "1", "--features", "1", "--steps", "1", "--runs", "1")
    data = tmp_path / "out.json"
    code, out, _ = run(*tiny, *PAIR, *HERE, "--json", data)
    assert code == 0
    assert "0.000" in out
    assert "±" not in out.split("\n", 1)[1]
    assert json.loads(data.read_text())["experiment"]["runs"] == 1


def test_the_everyday_clock_brings_old_songs_back() -> None:
    few = ("simulate", "--songs", "3", "--features", "2", "--steps", "25", "--runs", "2", *HERE)
    paper = numbers(*few, "--algorithm", "random")
    everyday = numbers(*few, "--algorithm", "random", "--clock", "everyday")
    assert sum(everyday["runs"][0]["elapsed"]) > 2 * sum(paper["runs"][0]["elapsed"]) - 3 * 43_200
    assert everyday["experiment"]["clock"]["song_seconds"] == 240.0


# ── Other worlds ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def library_store(tmp_path: Path) -> Path:
    """Return the store of twelve songs that have been analysed."""
    found = [
        (bytes(tmp_path / f"{row:02}.mp3"), analysis(row, descriptors=descriptors))
        for row, descriptors in enumerate(library(3, 12))
    ]
    place = tmp_path / "radio.db"
    with open_store(str(place)) as store:
        with store.writing() as connection:
            record_analyses(connection, found, scan=1, now=1)
        refreshed(store, now=1)
    return place


def test_the_songs_of_a_library(library_store: Path) -> None:
    options = ("--steps", "4", "--runs", "2", *PAIR, *HERE)
    document = numbers("simulate", "--store", library_store, *options)
    world = document["experiment"]["world"]
    assert world["kind"] == "table"
    assert world["songs"] == 12
    again = numbers("simulate", "--library", "--store", library_store, *options)
    assert lasting(again) == lasting(document)


def test_a_store_in_the_environment_is_no_wish_for_its_songs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANDSTAND_STORE", str(tmp_path / "none.db"))
    assert run(*SMALL, *PAIR, *HERE).code == 0
    assert_refused(run("simulate", "--library"), "a store was expected, found none")


# ── What is refused ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--algorithm", "lucky"), ("must be one of random", "got 'lucky'")),
        (("--algorithm", "random,"), ("must be one of random", "got ''")),
        (("--algorithm", "random,random"), ("algorithms must differ, got 'random' twice",)),
        (("--noise", "nan"), ("noise_standard_deviation must be finite",)),
        (("--library", "--features", "5"), ("--features does not go with --library",)),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_refused(run("simulate", *options), *words)


def test_a_library_without_songs_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "empty.db"
    with open_store(str(place)):
        pass
    assert_refused(run("simulate", "--store", place), "a library with songs was expected")


# ── The page ─────────────────────────────────────────────────────────────────────────────


def test_the_example_prints_what_the_page_says() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "research" / "simulate.md").read_text(
        "utf-8"
    )
    (session,) = re.findall(r"^```console\n\$ bandstand (.*?)^```$", page, re.MULTILINE | re.DOTALL)
    command, expected = session.split("\n", maxsplit=1)
    code, out, err = run(*shlex.split(command), *HERE)
    assert (code, err) == (0, "")
    assert [line.rstrip() for line in out.splitlines()] == expected.splitlines()
