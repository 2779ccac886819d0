import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.web.security.access import listening_socket
from tests.fixtures.cli.run_command import assert_refused, run, run_apart
from tests.fixtures.music.audio_files import encoded, piece
from tests.fixtures.waiting import wait_until
from tests.fixtures.web.servers import PASSWORD, Server, serving

EVERYWHERE = "0.0.0.0"  # noqa: S104


@pytest.fixture
def music(tmp_path: Path) -> Path:
    folder = tmp_path / "music"
    folder.mkdir()
    for number in range(4):
        (folder / f"{number}.wav").write_bytes(encoded("wav", piece(number, seconds=1.0)))
    return folder


# ── What is refused, before anything begins ──────────────────────────────────────────────


def test_a_setting_that_cannot_be_used_is_one_sentence(tmp_path: Path, music: Path) -> None:
    config = tmp_path / "my.toml"
    config.write_text("prot = 1")
    assert_refused(run("serve", music, "--config", config), str(config), "did you mean port")
    assert_refused(run("serve", music, "--port", "70000"), "--port must be a whole number")
    assert_refused(run("serve", music, "--port", "x"), "--port")
    assert_refused(run_apart("serve", music, BANDSTAND_PORT="x"), "BANDSTAND_PORT must be")


def test_a_port_in_use_is_one_sentence_and_nothing_is_made(tmp_path: Path, music: Path) -> None:
    with listening_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        outcome = run("serve", music, "--port", port, "--store", tmp_path / "radio.db")
    assert_refused(outcome, f"port {port} must be free", code=1)
    assert not (tmp_path / "radio.db").exists()


def test_an_address_for_others_takes_an_account_with_a_password(
    tmp_path: Path, music: Path
) -> None:
    outcome = run(
        "serve", music, "--port", "0", "--listen", EVERYWHERE, "--store", tmp_path / "radio.db"
    )
    assert_refused(outcome, "bandstand user add")


def test_the_internet_takes_tls_and_a_proxy(tmp_path: Path, music: Path) -> None:
    command: list[str | Path] = ["serve", music, "--store", tmp_path / "radio.db"]
    public = "https://music.example.org"
    assert_refused(run(*command, "--public-url", public), "trusted_proxies must name")
    plain = ["--public-url", "http://music.example.org", "--trusted-proxy", "127.0.0.1"]
    assert_refused(run(*command, *plain), "must begin with https://")
    assert not (tmp_path / "radio.db").exists()


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    command: list[str | Path] = ["serve", "--port", "0", "--store", tmp_path / "radio.db"]
    assert_refused(run(*command), "at least one folder of music")
    assert_refused(run(*command, tmp_path / "nowhere"), "must exist")


# ── A server's life ──────────────────────────────────────────────────────────────────────


def test_the_first_start_prints_a_token_that_makes_the_first_account_once(
    tmp_path: Path, music: Path
) -> None:
    with serving(tmp_path, folders=[music], names={}) as server:
        token = server.setup_token
        assert token is not None
        stranger = server.client()
        assert stranger.get("/api/next").status_code == 401
        wrong = {"token": "x" * 43, "name": "ann", "password": PASSWORD}
        assert stranger.post("/api/session/setup", json=wrong).status_code in {401, 403}
        answer = stranger.post("/api/session/setup", json=wrong | {"token": token})
        assert answer.status_code in {200, 201}, answer.text
        again = wrong | {"token": token, "name": "eve"}
        assert server.client().post("/api/session/setup", json=again).status_code == 404
        assert stranger.get("/api/admin/status").json()["accounts"] == 1
        assert server.stop() == 0
        before = len(server.output)
        server.start()
        assert "token" not in server.output[before:]


def test_music_is_found_and_kept_whatever_happens_to_the_server_and_the_disk(
    tmp_path: Path, music: Path
) -> None:
    with serving(tmp_path, folders=[music]) as server:
        server.kill()  # in the middle of the first scan, or before it
        server.start()
        wait_for_scan(server.client("ann"))
        listener = server.client("ben")
        offered = listener.get("/api/next").json()
        assert offered["song"]["duration"] == pytest.approx(1.0, abs=0.1)
        part = listener.get(offered["song"]["audio"], headers={"Range": "bytes=0-99"})
        assert (part.status_code, len(part.content)) == (206, 100)
        wait_until(lambda: "4 songs can be played" in server.output)
        acknowledged = rate(server, songs=2)
        server.kill()
        music.rename(tmp_path / "away")
        server.start()
        assert "must exist" in str(wait_for_scan(server.client("ann"))["problem"])
        assert stored(server) == acknowledged
        assert server.client("ann").get("/api/admin/status").json()["songs"] == 4


def test_it_stops_soon_with_streams_open_and_loses_nothing(tmp_path: Path) -> None:
    music = tmp_path / "music"
    music.mkdir()
    for seed in range(150):  # enough to be at it when the server stops
        (music / f"{seed}.wav").write_bytes(encoded("wav", piece(seed, seconds=1.0)))
    with serving(tmp_path, invented=50, folders=[music]) as server:
        admin = server.client("ann")
        with admin.stream("GET", "/api/admin/scan/progress") as stream:
            lines = stream.iter_lines()
            assert any("scanning" in line or "first look" in line for line in lines)
            with ThreadPoolExecutor() as pool:
                waiting = [pool.submit(rate_until_the_end, server, turn) for turn in range(4)]
                wait_until(lambda: server.output.count("POST /api/events") >= 20)
                began = time.monotonic()
                assert server.stop(signal.SIGTERM) == 0
                assert time.monotonic() - began < 10
                acknowledged = {number for one in waiting for number in one.result()}
        assert len(acknowledged) >= 20
        assert acknowledged <= set(stored(server))
        assert "Traceback" not in server.output
        assert server.output.count("Stopped.") == 1


def test_others_are_served_with_a_word_of_warning_and_by_one_server_only(
    tmp_path: Path, music: Path
) -> None:
    quiet = {"BANDSTAND_ACCESS_LOG": "no"}
    options = ["--listen", EVERYWHERE]
    with serving(tmp_path, invented=5, options=options, variables=quiet) as server:
        assert server.process is not None
        other = run("serve", music, "--port", "0", "--store", server.store)
        assert_refused(other, f"process {server.process.pid}", code=1)
        assert socket.gethostname() in server.address
        answer = httpx.get(f"http://127.0.0.1:{server.port}/health")
        assert answer.status_code == 200
        assert "server" not in answer.headers
        assert "passwords are sent unencrypted" in server.output
        assert "GET /health" not in server.output


# ── What the tests need ──────────────────────────────────────────────────────────────────


def wait_for_scan(admin: httpx.Client) -> dict[str, object]:
    progress: dict[str, object] = {}

    def is_over() -> bool:
        progress.update(admin.get("/api/admin/scan").json())
        return progress["finished_at"] is not None and progress["state"] == "idle"

    wait_until(is_over)
    return progress


def rate(server: Server, *, songs: int) -> list[int]:
    """Return the numbers of the events that were acknowledged."""
    listener = server.client("ben")
    numbers = []
    for turn in range(songs):
        song = listener.get("/api/next").json()["song"]["id"]
        event = {"key": f"{turn}", "kind": "rating", "song": song, "stars": 4}
        answer = listener.post("/api/events", json=event)
        assert answer.status_code == 201, answer.text
        numbers.append(answer.json()["seq"])
    return numbers


def rate_until_the_end(server: Server, turn: int) -> list[int]:
    """Rate without a pause until the server is gone; return the numbers that were acknowledged."""
    client = server.client("ben")
    song = client.get("/api/next").json()["song"]["id"]
    numbers: list[int] = []
    while True:
        event = {"key": f"{turn}/{len(numbers)}", "kind": "rating", "song": song, "stars": 4}
        try:
            answer = client.post("/api/events", json=event)
        except httpx.TransportError:
            return numbers
        assert answer.status_code in {201, 503}, answer.text
        if answer.status_code == 201:
            numbers.append(answer.json()["seq"])


def stored(server: Server) -> list[int]:
    with open_store(server.store) as opened, opened.reading() as connection:
        account = accounts.by_name(connection, "ben")
        assert account is not None
        return [event.seq for event in events.after(connection, account.id)]
