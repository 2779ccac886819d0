"""Everything about a server that its owner can choose."""

from __future__ import annotations

from dataclasses import Field, dataclass, field, fields
from typing import Any, Final

from bandstand.settings.values import (
    Check,
    addresses,
    choice,
    folders,
    host_names,
    listening_address,
    store_place,
    switch,
    web_address,
    whole,
)

PREFIX: Final = "BANDSTAND_"
LOG_LEVELS: Final = ("debug", "info", "warning", "error")


def _setting(default: Any, check: Check, says: str) -> Any:
    return field(default=default, metadata={"check": check, "help": says})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything about a server that its owner can choose."""

    store: str | None = _setting(
        None, store_place, "SQLite file or postgresql:// address; SQLite in your data folder"
    )
    folders: tuple[str, ...] = _setting((), folders, "folders of music")
    listen: str = _setting("127.0.0.1", listening_address, "address to listen on")
    port: int = _setting(8260, whole(0, 65_535), "port to listen on; 0 takes one that is free")
    hosts: tuple[str, ...] = _setting(
        (), host_names, "names by which browsers may call this server, beside those it knows"
    )
    public_url: str | None = _setting(
        None, web_address, "the address outside, where a proxy answers for this server"
    )
    trusted_proxies: tuple[str, ...] = _setting(
        (), addresses, "addresses or networks of proxies whose word on the client's address counts"
    )
    rescan_minutes: int = _setting(
        60, whole(0, 525_600), "minutes from one scan of the folders to the next; 0 is never"
    )
    workers: int = _setting(
        0, whole(0, 1_024), "processes that analyse music; 0 is one for each core"
    )
    listener_cache_mb: int = _setting(
        256, whole(1, 2**40), "megabytes for what is known of the listeners who are here"
    )
    conversion_cache_mb: int = _setting(
        2_048, whole(0, 2**40), "megabytes of songs converted for browsers that are kept"
    )
    cover_cache_mb: int = _setting(256, whole(0, 2**40), "megabytes of small covers that are kept")
    session_days: int = _setting(30, whole(1, 3_650), "days until a login ends")
    max_body_kb: int = _setting(64, whole(1, 65_536), "kilobytes that a request may carry")
    max_connections: int = _setting(
        1_000, whole(10, 1_000_000), "connections at once; more are told to come back later"
    )
    access_log: bool = _setting(True, switch, "whether every request is logged")  # noqa: FBT003
    log_level: str = _setting("info", choice(LOG_LEVELS), "least important messages that are shown")


def setting_fields() -> dict[str, Field[Any]]:
    """Return all settings by name, each with its default and, in its metadata, its help."""
    return {it.name: it for it in fields(Settings)}


def variable(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable("rescan_minutes")
    'BANDSTAND_RESCAN_MINUTES'
    """
    return PREFIX + name.upper()
