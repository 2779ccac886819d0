"""Children that do not do what they should."""

from __future__ import annotations

import os
from base64 import b64encode
from typing import Any

PAGE = b"<!doctype html><script>alert(1)</script>"


def answer_with_a_page(_: dict[str, Any]) -> dict[str, Any]:
    """Answer any question with a web page."""
    return {"image": b64encode(PAGE).decode(), "piece": None}


def fall_over(_: dict[str, Any]) -> dict[str, Any]:
    """End without an answer."""
    os.abort()
