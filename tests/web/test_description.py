"""/openapi.json has a schema for each answer, to which fixtures/web/requests.py holds them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bandstand.web.answers import ANSWERS
from bandstand.web.app import _body_model, create_app, find_routers
from tests.fixtures.web.described import Description
from tests.fixtures.web.worlds import World

NO_BODY = {"204", "304", "412", "416"}


def described(world: World) -> Any:
    return create_app(world.context).openapi()


def without_schema(description: Any) -> list[str]:
    """Return the answers that may be anything."""
    return [
        f"{operation['operationId']} {status}"
        for operations in description["paths"].values()
        for method, operation in operations.items()
        for status, response in operation["responses"].items()
        if method != "head" and status not in NO_BODY
        if not (content := response.get("content"))
        or not all(it.get("schema", it.get("itemSchema")) for it in content.values())
    ]


def test_every_answer_of_every_operation_has_a_schema(shared_world: World) -> None:
    description = described(shared_world)
    assert without_schema(description) == []
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(description)))
    assert named == set(description["components"]["schemas"])


def test_a_route_without_a_shape_is_found_out(
    shared_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin."""
    monkeypatch.delitem(ANSWERS, "next_song")
    assert without_schema(described(shared_world)) == ["next_song 200"]


def test_each_shape_is_of_a_route_and_named_as_no_body_is() -> None:
    routes: list[Any] = [route for router in find_routers() for route in router.routes]
    assert set(ANSWERS) <= {route.operation_id for route in routes}
    bodies = {model.__name__ for route in routes if (model := _body_model(route))}
    assert not bodies & {getattr(shape, "__name__", "") for shape in ANSWERS.values()}


RIGHT = {"favourite": True}


@pytest.mark.parametrize(
    ("status", "body", "is_right"),
    [
        (200, RIGHT, True),
        (200, {"favourite": 1}, False),
        (200, {**RIGHT, "more": 1}, False),
        (200, {}, False),
        (404, {"detail": "Not Found"}, False),
        (418, RIGHT, False),
    ],
)
def test_an_answer_that_departs_from_its_schema_is_found_out(
    shared_world: World, status: int, body: Any, *, is_right: bool
) -> None:
    description = Description(described(shared_world))
    content = json.dumps(body).encode()
    found = description.departure("PUT", "/api/favourites", status, "application/json", content)
    assert (found is None) == is_right
