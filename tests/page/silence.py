"""Sound for songs that have none: a minute of silence, for pages that are not about playing."""

from __future__ import annotations

import io
import wave
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

RATE = 8_000  # hertz
SECONDS = 60


@cache
def silence() -> bytes:
    """Return a minute of nothing, as a WAV file."""
    place = io.BytesIO()
    with wave.open(place, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(RATE)
        file.writeframes(b"\x80" * RATE * SECONDS)
    return place.getvalue()


def give_silence(page: Page) -> None:
    """Let every song of a page sound like that, whatever the server has."""
    sound = silence()
    page.route("**/audio", lambda route: route.fulfill(body=sound, content_type="audio/wav"))
