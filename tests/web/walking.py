"""Every route there is, with something real in its path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi.routing import APIRoute

from bandstand.web.app import find_routers
from bandstand.web.guards import policy_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand.web.guards import Policy

UNSAFE = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NOWHERE = "0" * 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one route."""

    method: str
    path: str
    policy: Policy

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    def target(self, ids: Mapping[str, str] | None = None) -> str:
        """Return its path with ids in it: those given by name, or one that nothing has."""
        known = ids or {}
        return re.sub(r"\{(\w+)[^}]*\}", lambda name: known.get(name[1], NOWHERE), self.path)


def operations() -> list[Operation]:
    """Return all operations of all routes."""
    return [
        Operation(method=method, path=route.path_format, policy=policy_of(route))
        for router in find_routers()
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
    ]
