"""Answers of the protocol: one tree, written as JSON or as XML.

    {"song": {"id": "tr-…", "genres": [{"name": "Jazz"}]}}

in the tree      in XML
object           an element
scalar           an attribute of the element around it
list             one element for each entry, none where it is empty
`value`          the text of the element around it
None             nothing, as in JSON

The biography of an artist and the notes of an album are elements with text (`_ALL_ELEMENTS`).
A refusal has HTTP status 200 too: clients read its code.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias
from xml.etree.ElementTree import Element, SubElement, tostring

from starlette.responses import Response

from bandstand import __version__
from bandstand.web.http.problems import Problem

Tree: TypeAlias = dict[str, Any]

API_VERSION: Final = "1.16.1"
XML_NAMESPACE: Final = "http://subsonic.org/restapi"
JSON_TYPE: Final = "application/json"
XML_TYPE: Final = "text/xml; charset=utf-8"

FAILED: Final = 0
MISSING_PARAMETER: Final = 10
WRONG_LOGIN: Final = 40
CONFLICTING_LOGIN: Final = 43
WRONG_KEY: Final = 44
NOT_ALLOWED: Final = 50
NOT_FOUND: Final = 70

_ENVELOPE: Final = {
    "version": API_VERSION,
    "type": "bandstand",
    "serverVersion": __version__,
    "openSubsonic": True,
}
_ALL_ELEMENTS: Final = frozenset({"artistInfo", "artistInfo2", "albumInfo"})


class Refusal(Exception):  # noqa: N818  # a refusal is no defect of the program
    """A request that is refused, with a code of the protocol; raise it from any endpoint."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code: Final = code
        self.message: Final = message


def not_found(what: str) -> Refusal:
    """Return the refusal for an id of nothing, or of another account's."""
    return Refusal(NOT_FOUND, f"there is no such {what}")


def refusal_of(problem: Problem) -> Refusal:
    """Return the refusal of the protocol that stands for one of the server."""
    codes = {401: WRONG_LOGIN, 403: NOT_ALLOWED, 404: NOT_FOUND}
    return Refusal(codes.get(problem.status, FAILED), problem.message)


def success(tree: Tree) -> Tree:
    """Return an answer with its envelope."""
    return {"status": "ok", **_ENVELOPE, **tree}


def failure(refusal: Refusal) -> Tree:
    """Return a refusal with its envelope."""
    error = {"code": refusal.code, "message": refusal.message}
    return {"status": "failed", **_ENVELOPE, "error": error}


def written(tree: Tree, form: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a whole answer, as `form` says: `json`, or else XML."""
    body, kind = (to_json(tree), JSON_TYPE) if form == "json" else (to_xml(tree), XML_TYPE)
    return Response(body, headers={"Content-Type": kind, **(headers or {})})


def to_json(tree: Tree) -> bytes:
    """Return an answer as JSON.

    >>> to_json({"status": "ok", "song": {"id": "a", "year": None}})
    b'{"subsonic-response":{"status":"ok","song":{"id":"a"}}}'
    """
    whole = {"subsonic-response": _known(tree)}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def to_xml(tree: Tree) -> bytes:
    """Return an answer as XML.

    >>> to_xml({"status": "ok", "genre": [{"value": "Jazz", "songCount": 2}]}).decode()[-74:]
    'restapi" status="ok"><genre songCount="2">Jazz</genre></subsonic-response>'
    """
    root = Element("subsonic-response", xmlns=XML_NAMESPACE)
    _fill(root, tree)
    text: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def moment(milliseconds: int) -> str:
    """Return a time as clients parse it.

    >>> moment(1_700_000_000_000)
    '2023-11-14T22:13:20.000Z'
    """
    found = datetime.fromtimestamp(milliseconds / 1_000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _known(value: Any) -> Any:
    """Return a value without what is None in it."""
    if isinstance(value, dict):
        return {name: _known(part) for name, part in value.items() if part is not None}
    return [_known(part) for part in value] if isinstance(value, list) else value


def _fill(element: Element, tree: Tree) -> None:
    for name, value in tree.items():
        for part in _entries(value):
            if isinstance(part, dict):
                _fill(SubElement(element, name), part)
            elif name == "value":
                element.text = _text(part)
            elif isinstance(value, list) or element.tag in _ALL_ELEMENTS:
                SubElement(element, name).text = _text(part)
            else:
                element.set(name, _text(part))


def _entries(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif value is not None:
        yield value


def _text(value: Any) -> str:
    """Return a scalar as XML has it, without characters that XML cannot hold."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "".join(letter if _is_xml(letter) else "\ufffd" for letter in str(value))


def _is_xml(letter: str) -> bool:
    return letter >= " " and not "\ud800" <= letter <= "\udfff" and letter not in "\ufffe\uffff"
