"""docs/content.md shows what the command really prints."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.fixtures.cli.run_command import run

PAGE = (Path(__file__).parent.parent.parent / "docs" / "content.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("session", blocks("console"))
def test_the_examples_print_what_the_page_says(
    session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in zip(("songs.csv", "ratings.csv"), blocks("csv"), strict=True):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command, expected = session.split("\n", maxsplit=1)
    _, out, err = run(*shlex.split(command.removeprefix("$ bandstand ")), "--workers", "1")
    assert out + err == expected
