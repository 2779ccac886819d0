"""Schemathesis against the real server: as nobody, as a listener, as an administrator (C3).

Every check that it has, but one: it also holds that whatever fits the description must be taken.
Ours says no more of a password, a song's id or a wish than a description can; the server may
know better, and says so with 422.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bandstand._util.clock import system_clock
from bandstand.music.catalogue.catalogue import load_catalogue
from bandstand.store.database.connection import open_store
from bandstand.study.design import Design
from bandstand.study.study_store import open_study
from tests.conftest import ROOT
from tests.fixtures.child_processes import PATIENCE
from tests.fixtures.web.servers import Server, prepared

EXAMPLES = 2
MANY_EXAMPLES = 100
LONGEST = 7_200.0  # seconds
WHO = [None, "ben", "ann"]
# Who may do everything every time, the others when there is time.
FIRST_OF_ALL = [*(pytest.param(who, marks=pytest.mark.long) for who in (None, "ben")), "ann"]

# Logging out would end the session that all other requests need; nobody can try it instead.
_LEFT_OUT = ("log_out",)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    proxies = {"BANDSTAND_TRUSTED_PROXIES": "127.0.0.1"}
    home = tmp_path_factory.mktemp("schemathesis")
    ready = prepared(home, invented=40, variables=proxies)
    design = Design(least_songs=40, answer_seconds=0, rest_seconds=0, gap_hours=0)
    with open_store(ready.store) as store:
        open_study(store, load_catalogue(store), design, clock=system_clock)
    try:
        yield ready.start()
    finally:
        ready.close()


def schemathesis(
    server: Server,
    folder: Path,
    who: str | None,
    *options: str,
    song: str | None = None,
    seconds: float = PATIENCE,
) -> str:
    """Return what schemathesis has to say; it must have found nothing.

    With `song`, that is the song in every path that names one.
    """
    known = "" if song is None else f'[parameters]\nsong_id = "{song}"\n'
    token = "" if who is None else f'[auth.openapi.session]\napi_key = "{server.tokens[who]}"\n'
    refused = '[checks]\nnegative_data_rejection.expected-statuses = ["4xx"]\n'
    (folder / "schemathesis.toml").write_text(token + refused + known, encoding="utf-8")
    left_out = () if who is None else [f"--exclude-operation-id={name}" for name in _LEFT_OUT]
    command = [
        *(sys.executable, "-m", "tests.fixtures.web.many_addresses"),
        *("--config-file", "schemathesis.toml", "run", f"{server.address}/openapi.json"),
        *("--checks", "all", "--exclude-checks", "positive_data_acceptance"),
        *("--generation-database", "none", "--suppress-health-check", "all"),
        *("--request-timeout", "60", "--continue-on-failure", "--no-color", *left_out, *options),
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert server.client().get("/health").json()["status"] == "ok"
    return done.stdout


@pytest.mark.parametrize("who", FIRST_OF_ALL)
def test_a_few_examples_of_every_operation(server: Server, tmp_path: Path, who: str | None) -> None:
    options = ["--max-examples", str(EXAMPLES), "--phases", "fuzzing", "--seed", "1"]
    said = schemathesis(server, tmp_path, who, *options)
    assert "Failures:" not in said


@pytest.mark.long
@pytest.mark.parametrize("who", WHO)
def test_a_hundred_examples_of_every_operation_and_with_a_song_that_is_there(
    server: Server, tmp_path: Path, who: str | None
) -> None:
    many = ("--max-examples", str(MANY_EXAMPLES))
    phases = ("--phases", "examples,coverage,fuzzing,stateful")
    said = schemathesis(server, tmp_path, who, *many, *phases, seconds=LONGEST)
    print(said[-2_000:])  # with the seed, for whoever wants to see it again
    song = server.client("ben").get("/api/songs?limit=1").json()["songs"][0]["id"]
    only = ("--include-path-regex", "song_id")
    schemathesis(server, tmp_path, who, *many, *only, song=song, seconds=LONGEST)


def test_an_api_that_fails_is_found_out(server: Server, tmp_path: Path) -> None:
    """The twin: of a description that promises another answer schemathesis says so."""
    described = server.client().get("/openapi.json").json()
    health = {**described["paths"]["/health"]["get"], "responses": {"204": {"description": "-"}}}
    described["paths"] = {"/health": {"get": health}}
    (tmp_path / "wrong.json").write_text(json.dumps(described), encoding="utf-8")
    command = [
        *(sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"),
        *("run", "wrong.json", "--url", server.address, "--max-examples", "1", "--no-color"),
    ]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 1
    assert "Undocumented" in done.stdout
