"""A study that cannot be read says so, and the radio goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from tests.fixtures.web.studies import begin_study, participant

if TYPE_CHECKING:
    from tests.fixtures.web.worlds import World


@pytest.mark.parametrize(
    "damage",
    [
        "catalogue = X'00'",
        "design = '{\"seed\": -1.5}'",
        "design = '{\"title\": 3}'",
        "design = 'no JSON'",
    ],
)
def test_a_study_that_cannot_be_read_is_said_to_be(world: World, damage: str) -> None:
    study = begin_study(world)
    with world.store.writing() as connection:
        changed = text(f"UPDATE study SET {damage} WHERE id = :id")  # noqa: S608
        connection.execute(changed, {"id": study.id})
    ann = participant(world)
    answer = ann.client.ask("GET", "/api/study")
    assert (answer.status, answer.code) == (503, "study_unreadable")
    message = answer.json()["error"]["message"]
    assert message == "the study cannot be read; the server's operator has to repair it"
    assert ann.ask_to_join().code == "study_unreadable"
    assert ann.client.ask("GET", "/api/session").status == 200
    assert ann.client.ask("GET", "/api/next").status == 200
