"""Templates of studies: each can be read, and each finding has all its parts."""

import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jinja2 import Environment, TemplateSyntaxError

TEMPLATES = [
    file
    for file in files("bandstand_lab.paper").joinpath("templates").iterdir()
    if file.name.endswith(".toml")
]
PARTS = {"paper", "place", "measured", "why"}


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    else:
        yield value


def check(document: str) -> None:
    """Parse every template of a study, and see that its findings are whole."""
    found = tomllib.loads(document)
    for text in texts(found):
        Environment(autoescape=True).parse(text)
    for name, finding in found.get("findings", {}).items():
        assert set(finding) == PARTS, name


@pytest.mark.parametrize("file", TEMPLATES, ids=lambda file: file.name)
def test_templates_can_be_read_and_findings_are_whole(file: Any) -> None:
    check(file.read_text(encoding="utf-8"))


def test_a_finding_without_a_rule_would_be_noticed() -> None:
    with pytest.raises(AssertionError, match="falling"):
        check('[findings.falling]\npaper = "a"\nplace = "b"\nmeasured = "c"')


def test_a_template_that_does_not_end_would_be_noticed() -> None:
    with pytest.raises(TemplateSyntaxError):
        check('method = "{% if runs %}some"')
