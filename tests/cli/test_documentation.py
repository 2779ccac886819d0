"""docs/recommend.md shows what the command really prints; all options are documented."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from bandstand.cli import COMMANDS, bandstand
from bandstand.cli.recommend import recommend
from bandstand.core.registry import ALGORITHMS
from tests.fixtures.cli.run_command import run

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "recommend.md").read_text(encoding="utf-8").split("\n## From Python")[0]
COMMANDS_PAGE = (DOCS / "commands.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the page's files, as the current one."""
    names = ("books.csv", "read.csv", "library.csv")
    for name, content in zip(names, blocks("csv"), strict=True):
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield everything in a JSON document by its place."""
    if isinstance(tree, dict | list):
        for key, branch in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves(branch, f"{path}/{key}")
    else:
        yield path, tree


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("session", blocks("console"))
def test_the_examples_print_what_the_page_says(session: str) -> None:
    command, expected = session.split("\n", maxsplit=1)
    _, out, err = run(*shlex.split(command.removeprefix("$ bandstand ")))
    if "--json" in command:
        printed, shown = dict(leaves(json.loads(out))), dict(leaves(json.loads(expected)))
        assert list(printed) == list(shown)
        for place, value in shown.items():
            near = pytest.approx(value, rel=1e-5) if isinstance(value, float) else value
            assert printed[place] == near
    else:
        assert err + out == expected


def test_every_algorithm_is_on_the_page_with_its_summary() -> None:
    table = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.split("## Algorithms")[1], re.MULTILINE)
    assert table == [(name, algorithm.summary) for name, algorithm in ALGORITHMS.items()]


def test_every_option_is_on_the_page() -> None:
    documented = re.findall(r"^\| `(--[a-z]+)", PAGE, re.MULTILINE)
    assert sorted(documented) == sorted(option.opts[0] for option in recommend.params)


def test_every_command_is_on_a_page() -> None:
    for name in COMMANDS:
        assert f"| `bandstand {name}` |" in COMMANDS_PAGE


def options_of(command: click.Command) -> set[str]:
    """Return the options of a command and of the commands inside it."""
    own = {option.opts[0] for option in command.params if option.param_type_name == "option"}
    return own.union(*(options_of(part) for part in parts_of(command).values()))


def parts_of(command: click.Command) -> dict[str, click.Command]:
    """Return the commands inside a command, by name."""
    if not isinstance(command, click.Group):
        return {}
    context = click.Context(command)
    found = {name: command.get_command(context, name) for name in command.list_commands(context)}
    return {name: part for name, part in found.items() if part is not None}


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"recommend"}))
def test_every_option_of_the_other_commands_is_on_their_page(name: str) -> None:
    command = bandstand.get_command(click.Context(bandstand), name)
    assert command is not None
    section = COMMANDS_PAGE.split(f"\n## {name}\n")[1].split("\n## ")[0]
    documented = re.findall(r"^\| `(--[a-z-]+)", section, re.MULTILINE)
    assert sorted(documented) == sorted(options_of(command))
    for part in parts_of(command):
        assert f"`bandstand {name} {part}" in section
