"""Every route is in docs/http.md, and every example there does what it says."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import get_args

from fastapi.routing import APIRoute

from bandstand.study.protocol import Code
from bandstand.web.app import find_routers
from bandstand.web.http.problems import _HTTP_CODES, _KINDS
from tests.conftest import ROOT
from tests.fixtures.web.studies import begin_study
from tests.fixtures.web.walking import operations
from tests.fixtures.web.worlds import PASSWORD, World

TEXT = (ROOT / "docs" / "http.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"```http\n(\w+) (\S+)\n(?:(\{.*?\})\n)?(\d{3}) ?(.*?)\n```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One request of the documentation, and its answer."""

    method: str
    target: str
    body: str | None
    status: int
    answer: str


def examples() -> Iterator[Example]:
    for method, target, body, status, answer in _BLOCK.findall(TEXT):
        yield Example(
            method=method, target=target, body=body or None, status=int(status), answer=answer
        )


def keys(answer: str) -> set[str]:
    """Return the top-level keys of an answer in which … may stand for anything."""
    flat = answer.strip().removeprefix("{").removesuffix("}")
    while (inner := re.sub(r"\{[^{}]*\}|\[[^\[\]]*\]", "0", flat)) != flat:
        flat = inner
    return set(re.findall(r'"(\w+)":', flat))


def undocumented(text: str) -> list[str]:
    headings = set(re.findall(r"^### (\w+ /\S*)$", text, re.MULTILINE))
    paths = {str(one) for one in operations()}
    wanted = {one for one in paths if not one.startswith("HEAD ")}
    return sorted(wanted - headings) + sorted(headings - paths)


def test_every_route_is_documented_and_nothing_else() -> None:
    assert undocumented(TEXT) == []


def test_a_route_without_a_word_is_found_out() -> None:
    """The twin: without one of the headings the check fails."""
    assert undocumented(TEXT.replace("### GET /api/next", "")) == ["GET /api/next"]


def class_names(texts: Iterable[str]) -> list[str]:
    """Return the texts that begin with the name of a class, as after a careless renaming."""
    return [text for text in texts if re.match(r"[A-Z][a-z]+[A-Z]", text)]


def test_every_route_is_described_in_words() -> None:
    routes = [route for router in find_routers() for route in router.routes]
    texts = [route.description for route in routes if isinstance(route, APIRoute)]
    assert len(texts) > 40
    assert class_names(texts) == []
    assert class_names([*texts, "TagName the songs to play next."]) != []


def test_every_block_is_an_example() -> None:
    assert len(list(examples())) == TEXT.count("```http")


def test_every_example_does_what_it_says(world: World) -> None:
    ann = world.member(world.account("Ann", "admin"))
    begin_study(world)
    known = {"{user_id}": "", "{playlist_id}": "", "{app_id}": "", "{arm_id}": ""}
    for example in examples():
        target = example.target
        for name, found in known.items():
            target = target.replace(name, found)
        body = None if example.body is None else json.loads(example.body)
        if target == "/api/session" and example.method == "POST":
            assert body == {"name": "Ann", "password": PASSWORD}
        answer = ann.ask(example.method, target, json=body)
        assert answer.status == example.status, (example, answer)
        wanted = keys(example.answer)
        if wanted:
            said = set(answer.json())
            assert wanted <= said if "…}" in example.answer else wanted == said, (example, said)
        if answer.status == 201 and "id" in answer.json():
            kinds = {"admin": "{user_id}", "apps": "{app_id}", "playlists": "{playlist_id}"}
            (name,) = (name for part, name in kinds.items() if part in target)
            known[name] = answer.json()["id"]
        if target == "/api/study/consent":
            known["{arm_id}"] = answer.json()["study"]["arms"][0]["id"]


def test_every_code_of_an_error_is_documented() -> None:
    source = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "src" / "bandstand" / "web").rglob("*.py")
    )
    raised = set(re.findall(r'Problem\(\s*\d+,\s*"(\w+)"', source))
    rules = set(get_args(Code)) - {"not_yours"}  # which is `not_found`
    codes = raised | {code for _, _, code in _KINDS} | set(_HTTP_CODES.values()) | rules
    documented = set(re.findall(r"`(\w+)`", TEXT))
    assert codes - documented == set()
