"""Children that do not do what they should."""

from __future__ import annotations

from typing import Any


def answer_with_a_page(_: dict[str, Any]) -> dict[str, Any]:
    """Answer with something that is no piece of a recording."""
    return {"piece": "<script>"}


def answer_with_numbers(_: dict[str, Any]) -> dict[str, Any]:
    """Answer with something that is not even text."""
    return {"piece": [1, 2, 3]}
