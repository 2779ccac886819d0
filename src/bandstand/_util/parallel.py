"""The processors of this machine, and Dask clusters of others."""

from __future__ import annotations

import logging
import os
import socket
from typing import TYPE_CHECKING, Final

from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_SECONDS: Final = 10.0  # seconds


def connected(address: str, timeout_seconds: float = _CONNECT_SECONDS) -> Client:
    """Return a client of the cluster whose scheduler listens at `address`; it has a worker."""
    try:
        from distributed import Client  # noqa: PLC0415  # only where a cluster is used
    except ImportError as problem:
        msg = "a cluster needs the package distributed; install bandstand[dask]"
        raise BandstandError(msg) from problem
    # Errors are reported in our own sentences, without stack traces of the library.
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        _check_listening(address, timeout_seconds)
        client = Client(address, timeout=timeout_seconds, set_as_default=False)
    except (OSError, OverflowError, ValueError) as problem:
        msg = f"a Dask scheduler was expected at {address}, got: {problem}"
        raise InvalidInputError(msg) from problem
    try:
        client.wait_for_workers(1, timeout=timeout_seconds)
    except TimeoutError as problem:
        client.close()
        msg = f"the Dask cluster at {address} must have a worker, found none"
        raise InvalidInputError(msg) from problem
    return client


def _check_listening(address: str, timeout_seconds: float) -> None:
    """Refuse an address at which no server listens, before a client is made for it.

    A client that finds no server retries until its timeout, and leaves a thread behind that can
    block the next one.
    """
    from distributed.comm import get_address_host_port  # noqa: PLC0415

    socket.create_connection(get_address_host_port(address), timeout=timeout_seconds).close()


def usable_cores() -> int:
    """Return how many processors this process may use: a container may have fewer than all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
