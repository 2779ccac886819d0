"""The location of a store: `--store` as a value, and the folder for derived files.

`music.db`, `/data/music.db`               a SQLite file
`sqlite:///music.db`, `sqlite:////data/…`  the same, as a URL: relative and absolute
`postgresql://USER@HOST:PORT/DATABASE`     a PostgreSQL database
nothing                                    a SQLite file in the user's data folder

Nothing here shows a password, neither in what it returns as text nor in what it refuses.
"""

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeAlias

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from bandstand.errors import InvalidInputError

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SQLITE_SCHEME: Final = re.compile(r"sqlite:", re.IGNORECASE)
_POSTGRES_SCHEMES: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_DRIVER: Final = "postgresql+psycopg"
# What else a URL may say after its "?", and what of it tells one database from another.
_SECRETS: Final = frozenset({"password", "sslpassword"})
_SHOWN: Final = frozenset({"host", "port", "dbname", "user"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteLocation:
    """A SQLite file."""

    path: Path  # absolute

    def __str__(self) -> str:
        return str(self.path)

    @property
    def data_folder(self) -> Path:
        """The folder for files derived from the store, beside it."""
        return self.path.with_name(f"{self.path.name}.catalogue")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PostgresLocation:
    """A PostgreSQL database."""

    url: URL  # with its password, so it is not for showing

    def __str__(self) -> str:
        return self._without_password(self.url.query.keys() & _SHOWN).replace("%2F", "/")

    def __repr__(self) -> str:
        return f"PostgresLocation({self})"

    @property
    def data_folder(self) -> Path:
        """The folder for files derived from the store, in the user's data folder."""
        named = self._without_password(self.url.query.keys() - _SECRETS)
        digest = blake2b(named.encode(), digest_size=8).hexdigest()
        return user_data_folder() / f"{digest}.catalogue"

    def _without_password(self, options: Collection[str]) -> str:
        url = self.url
        plain = URL.create(
            "postgresql",
            username=url.username,
            host=url.host,
            port=url.port,
            database=url.database,
            query={name: url.query[name] for name in sorted(options)},
        )
        return plain.render_as_string()


Location: TypeAlias = SqliteLocation | PostgresLocation


def parse_location(text: str | None = None) -> Location:
    """Return the store that `text` names; without a text, the one in the user's data folder.

    >>> print(parse_location("sqlite:////data/music.db"))
    /data/music.db
    >>> print(parse_location("postgresql://ann:secret@example.org/radio"))
    postgresql://ann@example.org/radio
    """
    if text is None:
        return SqliteLocation(path=user_data_folder() / "bandstand.db")
    if not text or "\0" in text:
        msg = f"a store must be a path or a URL, got {text!r}"
        raise InvalidInputError(msg)
    scheme = _SCHEME.match(text)
    if scheme is not None and scheme[1].lower() in _POSTGRES_SCHEMES:
        return PostgresLocation(url=_postgres_url(text, scheme[1]))
    if _SQLITE_SCHEME.match(text):
        return SqliteLocation(path=_absolute(_sqlite_path(text)))
    if scheme is not None:
        msg = f"a store must be a path, sqlite:///… or postgresql://…, got {scheme[1]}://…"
        raise InvalidInputError(msg)
    return SqliteLocation(path=_absolute(text))


def user_data_folder() -> Path:
    """Return the user data folder (it is not created)."""
    # The standard says that a relative path there counts for nothing.
    chosen = os.environ.get("XDG_DATA_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen) / "bandstand"
    # Path.home() fails where there is none, and takes an empty name for the root folder.
    home = Path(os.environ.get("HOME", os.path.expanduser("~")))
    if not home.is_absolute():
        msg = "a store must be named with --store where the user has no home folder, got none"
        raise InvalidInputError(msg)
    return home / ".local" / "share" / "bandstand"


def _absolute(path: str) -> Path:
    return Path(os.path.abspath(path))  # links stay as they are


def _sqlite_path(text: str) -> str:
    slashes = "sqlite:///"
    path = text[len(slashes) :]
    if text[: len(slashes)].lower() != slashes or not path or path.startswith(":memory:"):
        msg = f"a SQLite store must be a file, written sqlite:///PATH, got {text!r}"
        raise InvalidInputError(msg)
    if "?" in path:
        msg = f"a SQLite store takes no options after a question mark, got {text!r}"
        raise InvalidInputError(msg)
    return path


def _postgres_url(text: str, scheme: str) -> URL:
    """Return the URL for the driver, with a password only where passwords belong."""
    rest = text[len(scheme) :]
    # The end of a password with a bare "@" would be read, and shown, as a host.
    if rest.count("@") > 1:
        msg = "an @ inside the user or password of a store's URL must be written %40, got it bare"
        raise InvalidInputError(msg)
    try:
        url = make_url(_DRIVER + rest)
    except (ArgumentError, ValueError):
        url = None
    if url is None or (url.database is None and "dbname" not in url.query):
        msg = "a PostgreSQL store must be postgresql://USER@HOST:PORT/DATABASE, got another form"
        raise InvalidInputError(msg)
    password = url.query.get("password")
    if isinstance(password, str):
        url = url.set(password=password).difference_update_query(["password"])
    return url
