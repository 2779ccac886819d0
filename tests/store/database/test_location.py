from pathlib import Path

import pytest

from bandstand.errors import InvalidInputError
from bandstand.store.database.location import (
    PostgresLocation,
    SqliteLocation,
    parse_location,
)

SECRET = "hunter2"


def data_folder(text: str) -> Path:
    return parse_location(text).data_folder


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder of the test's own, which is also where it is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("radio.db", "radio.db"),
        ("a b/radio?x#1.db", "a b/radio?x#1.db"),
        (":memory:", ":memory:"),
        ("../x.db", "../x.db"),
        ("sqlite:///a%20b.db", "a%20b.db"),
        ("SQLite:///radio.db", "radio.db"),
        ("sqlite:////data/radio.db", "/data/radio.db"),
    ],
)
def test_a_path_or_its_url_is_a_sqlite_file(text: str, path: str, home: Path) -> None:
    location = parse_location(text)
    assert isinstance(location, SqliteLocation)
    assert location.path == Path(home, path) or path.startswith("..")
    assert location.path.is_absolute()
    assert ".." not in location.path.parts
    assert str(location) == str(location.path)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg", "PostgreSQL"])
def test_a_postgresql_url_gets_our_driver(scheme: str) -> None:
    location = parse_location(f"{scheme}://ann:{SECRET}@example.org:5433/radio?sslmode=require")
    assert isinstance(location, PostgresLocation)
    assert location.url.drivername == "postgresql+psycopg"
    assert location.url.password == SECRET
    assert (location.url.host, location.url.port) == ("example.org", 5433)
    assert dict(location.url.query) == {"sslmode": "require"}
    assert str(location) == "postgresql://ann@example.org:5433/radio"


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://ann:{SECRET}@example.org/radio",
        f"postgresql://example.org/radio?user=ann&password={SECRET}",
        f"postgresql://ann@example.org/radio?sslpassword={SECRET}",
    ],
)
def test_a_password_is_never_shown(text: str) -> None:
    location = parse_location(text)
    assert isinstance(location, PostgresLocation)
    for shown in (str(location), repr(location), f"{location!s}", str(location.data_folder)):
        assert SECRET not in shown


NO_URL = "must be postgresql://USER@HOST:PORT/DATABASE"
REFUSED = {
    "must be a path or a URL": ["", "a\0b"],
    "must be a file, written sqlite:///PATH": [
        *("sqlite://", "sqlite:///", "sqlite:radio.db", "sqlite:///:memory:")
    ],
    "takes no options": ["sqlite:///radio.db?mode=ro"],
    "sqlite:///… or postgresql://…, got mysql://…": [f"mysql://ann:{SECRET}@example.org/radio"],
    r"got postgresql\+asyncpg://…": [f"postgresql+asyncpg://ann:{SECRET}@h/radio"],
    "got file://…": ["file:///radio.db"],
    NO_URL: [
        "postgresql://",
        "postgresql://example.org",
        f"postgresql://ann:{SECRET}/radio",
        "postgresql://example.org:port/radio",
    ],
    "must be written %40": [
        *(f"postgresql://ann:p@{SECRET}@h/radio", f"postgresql://ann:p@a/{SECRET}@h/radio")
    ],
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_store_is_refused_without_its_password(words: str) -> None:
    for text in REFUSED[words]:
        with pytest.raises(InvalidInputError, match=words) as refused:
            parse_location(text)
        assert SECRET not in str(refused.value)


def test_by_default_it_is_the_users_data_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(parse_location()) == f"{home}/.local/share/bandstand/bandstand.db"
    monkeypatch.setenv("XDG_DATA_HOME", "relative/counts/for/nothing")
    assert str(parse_location()) == f"{home}/.local/share/bandstand/bandstand.db"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert str(parse_location()) == "/data/bandstand/bandstand.db"


@pytest.mark.parametrize("value", ["", "here"])
def test_without_a_home_it_must_be_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HOME", value)
    with pytest.raises(InvalidInputError, match="must be named with --store"):
        parse_location()
    with pytest.raises(InvalidInputError, match="must be named with --store"):
        data_folder("postgresql:///radio")
    assert isinstance(parse_location("/data/radio.db"), SqliteLocation)


def test_derived_files_lie_beside_a_sqlite_store() -> None:
    assert data_folder("/data/radio.db") == Path("/data/radio.db.catalogue")
    assert data_folder("/data/radio") == Path("/data/radio.catalogue")
    assert data_folder("sqlite:////data/my.radio.db") == Path("/data/my.radio.db.catalogue")


def test_derived_files_of_a_database_lie_among_the_users_data(home: Path) -> None:
    one = data_folder("postgresql://ann:x@example.org/radio")
    assert one.parent == home / ".local/share/bandstand"
    assert one.suffix == ".catalogue"
    same = ("ann:y@example.org/radio", "ann@example.org/radio", "ann@example.org/radio?password=z")
    assert {data_folder(f"postgresql://{rest}") for rest in same} == {one}
    others = (
        "ann@example.org/other",
        "ann@example.com/radio",
        "ann@example.org:5433/radio",
        "ann@example.org/radio?options=-csearch_path%3Dx",
    )
    assert len({data_folder(f"postgresql://{rest}") for rest in others} | {one}) == 5
