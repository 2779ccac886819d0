"""An address that a listener gives opens nothing that only the server can reach."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bandstand.errors import InvalidInputError
from bandstand.radio.scrobbling import listenbrainz, transport
from bandstand.radio.scrobbling.transport import (
    Request,
    UnreachableError,
    checked_address,
    is_public,
    send,
)
from tests.conftest import ROOT
from tests.fakes.listen_server import ListenServer, listen_server, replies

HOME = ("127.0.0.1", "localhost")
TOKEN = "s3cret-token"
CERTIFICATE = ROOT / "tests" / "fixtures" / "radio" / "self_signed.pem"
PRIVATE = """
    127.0.0.1 0.0.0.0 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1
    255.255.255.255 :: ::1 fe80::1%1 fc00::1 ff02::1 ::ffff:10.0.0.1 64:ff9b::7f00:1
    2002:7f00:1::1 2001:0:1::1 64:ff9b:1::a00:1 2001:db8::1
"""


def request_to(url: str) -> Request:
    headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
    return Request(url=f"{url}/1/submit-listens", headers=headers, body=b'{"payload": []}')


@pytest.fixture
def server() -> Iterator[ListenServer]:
    with listen_server() as running:
        yield running


def test_an_address_is_https_or_the_operator_has_named_its_host() -> None:
    assert (
        checked_address(" https://a.example:444/apis/x/1/ ", ()) == "https://a.example:444/apis/x"
    )
    assert checked_address("http://koito.lan:4110", ["koito.lan"]) == "http://koito.lan:4110"
    for wrong in (
        "http://a.example", "ftp://a.example", "file:///etc/passwd", "https://", "a.example", "",
        "https://u:p@a.example", "https://a.example/?x=1", "https://a.example/#x", "https://[::1",
        "https://a.example:99999", "https://a.example:0", "https://a.example/\r\nX: 1",
        "https://ä.example", "https://a b.example", "gopher://koito.lan",
    ):  # fmt: skip
        with pytest.raises(InvalidInputError):
            checked_address(wrong, ["koito.lan"])


def test_private_addresses_are_known() -> None:
    assert [it for it in PRIVATE.split() if is_public(it)] == []
    assert [it for it in ("1.1.1.1", "2606:4700::1111", "142.132.240.1") if not is_public(it)] == []


def reached(server: ListenServer, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what comes to a private host that a listener names, by its name or as a number."""
    url = server.url.replace("http://", "https://")
    places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", int(url[-5:].strip(":"))))]
    public = (*places[0][:4], ("1.1.1.1", 443))
    # Of a host with two addresses, one of them private, none is connected to either.
    for found in (places, [*places, public]):
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=found, **__: found)
        with pytest.raises(UnreachableError) as problem:
            send(request_to("https://rebind.example"), ())
        assert TOKEN not in str(problem.value)
    return [it for it in (str(problem.value),) if "private network" not in it]


def test_a_host_in_a_private_network_is_not_connected_to(
    server: ListenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reached(server, monkeypatch) == []


def test_without_the_check_of_addresses_it_would_be(
    server: ListenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: the same requests are on their way if every address counts as public."""
    monkeypatch.setattr(transport, "is_public", lambda _: True)
    assert reached(server, monkeypatch) != []


def test_a_named_host_may_be_at_home_and_nothing_secret_is_shown(server: ListenServer) -> None:
    made = request_to(server.url)
    assert send(made, HOME).status == 200
    assert server.requests == [("/1/submit-listens", f"Token {TOKEN}", {"payload": []})]
    assert TOKEN not in repr(made)
    with pytest.raises(UnreachableError, match="begin with https"):
        send(made, ())


def test_a_redirect_is_not_followed(server: ListenServer) -> None:
    server.coming = [replies(307, Location=f"{server.url}/elsewhere")]
    assert send(request_to(server.url), HOME).status == 307
    assert len(server.requests) == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with listen_server(CERTIFICATE) as server:
        with pytest.raises(UnreachableError, match="certificate is not trusted"):
            send(request_to(server.url), HOME)
        assert server.requests == []
        # The twin: without the verification the token is out.
        monkeypatch.setattr(ssl, "create_default_context", ssl._create_unverified_context)
        assert send(request_to(server.url), HOME).status == 200
        assert server.requests[0][1] == f"Token {TOKEN}"


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one connection by hand."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            made, _ = listening.accept()
            with made:
                made.recv(65_536)
                answer(made)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def drip(made: socket.socket) -> None:
    """Answer one byte after the other, each in time, for ever."""
    try:
        made.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            made.sendall(b"X: 1\r\n")
            time.sleep(0.02)
    except OSError:
        pass


def outcome(url: str) -> str:
    try:
        return listenbrainz.verdict(send(request_to(url), HOME)).outcome
    except UnreachableError:
        return "again"


def test_an_answer_that_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_SECONDS", 0.3)
    for answer in (drip, lambda made: made.recv(1)):  # or never begins
        with answering(answer) as url:
            assert outcome(url) == "again"


WHOLE = b'HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{"status":"ok"}'


def test_half_an_answer_is_none() -> None:
    contents = [b"nonsense\r\n\r\n", *(WHOLE[:end] for end in range(len(WHOLE) + 1))]

    def answer(made: socket.socket) -> None:
        made.sendall(content)

    for content in contents:
        with answering(answer) as url:
            assert outcome(url) == ("delivered" if content == WHOLE else "again")


def test_of_a_long_answer_only_the_beginning_is_read(server: ListenServer) -> None:
    server.coming = [replies(200, b"x" * 1_000_000)]
    assert len(send(request_to(server.url), HOME).body) == 65_536


def test_a_token_that_fits_in_no_header_is_not_quoted(server: ListenServer) -> None:
    for token in (f"{TOKEN}\r\nX: 1", f"{TOKEN}ключ"):
        made = Request(url=server.url, headers={"Authorization": token}, body=b"{}")
        with pytest.raises(UnreachableError) as problem:
            send(made, HOME)
        assert TOKEN not in str(problem.value)
