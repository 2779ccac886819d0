"""What apps keep for an account: replaced as a whole, apart from others, gone with the account."""

from typing import Any

import pytest

from bandstand.errors import InvalidInputError, NotFoundError
from bandstand.store import accounts, app_state
from bandstand.store.database.connection import Store


def test_an_object_is_kept_under_its_name_until_the_account_goes(store: Store) -> None:
    with store.writing() as connection:
        ann, bob = (
            accounts.create(connection, name=name, role="listener", password_hash=None, now=1).id
            for name in ("Ann", "Bob")
        )
        assert app_state.get(connection, ann, "queue") == {}
        contents: list[dict[str, Any]] = [{"songs": ["a"], "at": 1}, {"songs": []}]
        for content in contents:
            app_state.put(connection, ann, "queue", content)
            assert app_state.get(connection, ann, "queue") == content
        assert app_state.get(connection, ann, "other") == {}
        assert app_state.get(connection, bob, "queue") == {}
        app_state.put(connection, bob, "queue", {"x": 1})
        app_state.put(connection, bob, "queue", {})
        assert app_state.get(connection, bob, "queue") == {}
        with pytest.raises(NotFoundError):
            app_state.put(connection, "0" * 16, "queue", {"x": 1})
        with pytest.raises(InvalidInputError, match="at most"):
            app_state.put(connection, ann, "queue", {"x": "y" * app_state.MAX_STATE_CHARS})
        accounts.delete(connection, ann)
        assert app_state.get(connection, ann, "queue") == {}
