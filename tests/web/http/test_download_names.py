"""Names of files in a header: whatever a song or a playlist is called, it is one name."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bandstand.web.http.files import disposition, safe_name

_ONE_NAME = re.compile(
    r"attachment; filename=\"([^\"\\/:*?<>|\x00-\x1f\x7f]+)\.m3u8\""
    r"(; filename\*=UTF-8''([\w.%~-]+))?",
    re.ASCII,
)
# Wide forms of quotes, slashes and dots, which turn into the plain ones.
INJECTED = "x＂; filename=evil.html; y=＂ ．．／．．／etc＼passwd"


@given(st.text())
@example(INJECTED)
@example("\ud800")
@example("")
@example("...")
def test_any_text_is_one_name_of_a_file(text: str) -> None:
    found = _ONE_NAME.fullmatch(disposition("attachment", text, ".m3u8"))
    assert found is not None
    assert not found[1].startswith((".", " "))
    if found[3] is not None:
        assert unquote(found[3]) == f"{safe_name(text)}.m3u8"


def test_a_name_that_is_made_plain_last_is_found_out() -> None:
    """The twin: quotes come back where wide forms are made plain after the cleaning."""
    plain = unicodedata.normalize("NFKD", safe_name(INJECTED)).encode("ascii", "ignore").decode()
    assert _ONE_NAME.fullmatch(f'attachment; filename="{plain}.m3u8"') is None


@pytest.mark.parametrize("text", ["東京", "\u0301", "＂＂"])
def test_what_has_no_plain_letters_is_called_a_song(text: str) -> None:
    assert disposition("inline", text, ".mp3").startswith('inline; filename="song.mp3"; filename*=')
