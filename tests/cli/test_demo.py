import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bandstand.cli import demo as demo_command
from bandstand.store import accounts
from bandstand.store.database.connection import open_store
from bandstand.store.events import events
from bandstand.web.security.access import listening_socket
from bandstand_demo import PIECES
from tests.fixtures.child_processes import started
from tests.fixtures.cli.run_command import environment, run_apart

PATIENCE = 120.0


@dataclass
class Demo:
    process: subprocess.Popen[str]
    client: httpx.Client

    def stop(self) -> str:
        """Stop it, and return what it said last."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate()
        assert self.process.returncode == 0
        return out


@contextmanager
def playing(home: Path, *options: str) -> Iterator[Demo]:
    with started(
        [sys.executable, "-m", "bandstand", "demo", "--no-browser", *options],
        env=environment(XDG_DATA_HOME=str(home)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.fullmatch(r"Bandstand plays at (\S+)\n", process.stdout.readline())
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=PATIENCE) as client:
            yield Demo(process, client)


def test_the_demo_composes_plays_learns_and_remembers(tmp_path: Path) -> None:
    with playing(tmp_path, "--port", "0") as demo:
        assert demo.client.get("/").status_code == 200
        assert demo.client.get("/api/session").json()["made_up"] is True
        offer = demo.client.get("/api/next").json()
        part = demo.client.get(offer["song"]["audio"], headers={"Range": "bytes=0-999"})
        assert (part.status_code, len(part.content)) == (206, 1_000)
        event = {"key": "k", "kind": "rating", "song": offer["song"]["id"], "stars": 5}
        assert demo.client.post("/api/events", json=event).status_code == 201
        assert demo.client.get("/api/admin/status").status_code == 403
        assert_refuses_another(tmp_path, demo)
        assert "Stopped." in demo.stop()
    assert_is_whole(tmp_path / "bandstand" / "demo-library")
    # A port in use is no reason not to play.
    with listening_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with playing(tmp_path, "--port", str(port)) as demo:
            assert demo.client.base_url.host == "127.0.0.1"
            assert demo.client.base_url.port != port
            assert demo.client.get("/api/next").json()["seq"] == 113
            assert demo.client.delete("/api/demo/history").status_code == 204
            demo.stop()
    with playing(tmp_path, "--port", "0") as demo:
        # Whoever has started afresh is not given a history again.
        assert demo.client.get("/api/session").json()["made_up"] is False
        assert demo.client.get("/api/next").json()["seq"] == 0
        demo.stop()
    with (
        open_store(str(tmp_path / "bandstand" / "demo.db")) as store,
        store.reading() as connection,
    ):
        (listener,) = accounts.all_accounts(connection)
        assert not listener.has_password
        assert list(events.after(connection, listener.id)) == []


def assert_is_whole(library: Path) -> None:
    """Check that composing was stopped, and that no piece is half of one."""
    there = list(library.rglob("*.opus"))
    assert 20 <= len(there) < len(PIECES)
    assert all(path.stat().st_size > 100_000 for path in there)


def assert_refuses_another(home: Path, demo: Demo) -> None:
    other = run_apart("demo", "--no-browser", "--port", "0", XDG_DATA_HOME=str(home))
    assert other.code == 1
    assert f"process {demo.process.pid}" in other.err


@pytest.mark.long
def test_all_pieces_are_there_in_the_end(tmp_path: Path) -> None:
    with playing(tmp_path, "--port", "0") as demo:
        until = time.monotonic() + PATIENCE
        while len(demo.client.get("/api/songs?limit=100").json()["songs"]) < len(PIECES):
            assert time.monotonic() < until
            time.sleep(0.5)
        demo.stop()


def test_a_browser_is_opened_only_where_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    demo_command._open_browser("http://nowhere/")
    assert opened == []
    monkeypatch.setenv("DISPLAY", ":0")
    demo_command._open_browser("http://here/")
    until = time.monotonic() + PATIENCE
    while not opened and time.monotonic() < until:
        time.sleep(0.01)
    assert opened == ["http://here/"]
