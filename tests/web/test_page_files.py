"""The files that the page is made of: what is served, how, and what is in them."""

import gzip
import posixpath
import re
from pathlib import Path

import pytest

from bandstand.errors import StoreFailedError
from bandstand.web.routes.page import FOLDER_MARK, MEDIA_TYPES, PAGE, PRELOAD_MARK, read_page_files
from tests.conftest import ROOT
from tests.fixtures.web.requests import Answer
from tests.fixtures.web.worlds import World

STATIC = ROOT / "src" / "bandstand" / "web" / "static"
HEAVIEST = 200_000  # bytes over the wire, for all that there is to load
ICON = f"{PAGE.folder}/icon.svg"


def said(answer: Answer, attribute: str) -> str:
    """Return what the page's root says of something."""
    root = re.search(rb"<html[^>]*>", answer.body)
    assert root
    found = re.search(rf'\sdata-{attribute}="(\w+)"', root[0].decode())
    assert found
    return found[1]


# ── The page ─────────────────────────────────────────────────────────────────────────────


def test_the_page_is_for_everybody(world: World) -> None:
    answer = world.stranger().ask("GET", "/")
    assert (answer.status, answer.header("content-type")) == (200, "text/html; charset=utf-8")
    assert answer.header("cache-control") == "no-store"
    assert said(answer, "setup") == "closed"
    world.context.setup.issue()
    assert said(world.stranger().ask("GET", "/"), "setup") == "open"


def test_the_page_knows_whether_somebody_is_logged_in(world: World) -> None:
    ann = world.listener()
    assert said(world.stranger().ask("GET", "/"), "session") == "closed"
    assert said(ann.ask("GET", "/"), "session") == "open"
    ann.cookies = dict.fromkeys(ann.cookies, "x" * 43)
    assert said(ann.ask("GET", "/"), "session") == "closed"


def test_who_follows_a_link_from_elsewhere_is_not_taken_for_a_stranger(world: World) -> None:
    """The cookie is strict: such a request comes without it, and only the page's own bring it."""
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    assert said(world.stranger().ask("GET", "/", headers=elsewhere), "session") == "ask"
    assert said(world.listener().ask("GET", "/", headers=elsewhere), "session") == "open"


def test_the_page_comes_also_when_the_store_does_not_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = world.listener()

    def gone(_: str) -> None:
        raise StoreFailedError

    monkeypatch.setattr(world.context.sessions, "_load", gone)
    answer = ann.ask("GET", "/")
    assert (answer.status, said(answer, "session")) == (200, "ask")


def test_the_page_names_what_is_there_and_the_modules_of_the_first_screen(
    shared_world: World,
) -> None:
    client = shared_world.stranger()
    text = client.ask("GET", "/").body.decode()
    assert FOLDER_MARK not in text
    assert PRELOAD_MARK not in text
    named = re.findall(r'(?:src|href)="(/[^"]*)"', text)
    assert len(named) > 5
    assert [one for one in named if client.ask("GET", one).status != 200] == []
    links = re.findall(r'<link rel="modulepreload" href="([^"]+)">', text)
    assert links == [f"{PAGE.folder}/{name}" for name in PAGE.first_modules]
    assert f"{PAGE.folder}/app/main.js" in links
    assert "vendor/uplot.js" not in PAGE.first_modules


def test_static_imports_are_followed_and_dynamic_ones_are_not(tmp_path: Path) -> None:
    for name, text in {
        "index.html": "<html>",
        "app/main.js": 'import { a } from "./a.js";\nconst b = () => import("../b.js");\n',
        "app/a.js": 'import {\n  c,\n} from "../c.js";\nexport { d } from "./d.js";\n',
        "app/d.js": 'import "./a.js";\n// import "./e.js";\n',
        "app/e.js": "",
        "b.js": "",
        "c.js": 'import "./nowhere.js";\n',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = read_page_files(tmp_path).first_modules
    assert found == ("app/main.js", "app/a.js", "c.js", "app/d.js")


# ── How files are sent ───────────────────────────────────────────────────────────────────


def test_the_files_of_the_page_are_for_everybody(shared_world: World) -> None:
    client = shared_world.stranger()
    for name, file in PAGE.files.items():
        answer = client.ask("GET", f"{PAGE.folder}/{name}")
        assert (answer.status, answer.body) == (200, file.plain)
        assert answer.header("content-type") == MEDIA_TYPES[name.rpartition(".")[2]]
        head = client.ask("HEAD", f"{PAGE.folder}/{name}")
        assert (head.header("content-length"), head.body) == (str(len(answer.body)), b"")


@pytest.mark.parametrize(
    "name",
    ["other.js", "", "index.html", "app", "app/", "../page_files.py", "./icon.svg", "/icon.svg"],
)
def test_what_is_no_file_of_the_page_is_not_there(shared_world: World, name: str) -> None:
    answer = shared_world.stranger().ask("GET", f"{PAGE.folder}/{name}")
    assert (answer.status, answer.code) == (404, "not_found")


def test_a_file_is_kept_for_ever_under_its_version_and_an_open_tab_goes_on_after_an_update(
    shared_world: World,
) -> None:
    """Under the old version there is the present file, which nobody keeps."""
    answer = shared_world.stranger().ask("GET", ICON)
    assert answer.header("cache-control") == "public, max-age=31536000, immutable"
    answer = shared_world.stranger().ask("GET", "/static/0123456789ab/icon.svg")
    assert (answer.status, answer.header("cache-control")) == (200, "no-cache")
    assert answer.body == PAGE.files["icon.svg"].plain


def test_the_version_changes_with_every_file(tmp_path: Path) -> None:
    def version(**contents: str) -> str:
        for name, text in contents.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        return read_page_files(tmp_path).version

    first = version(index="a", other="b")
    assert re.fullmatch(r"[0-9a-f]{12}", first)
    assert version(index="a", other="b") == first
    assert len({first, version(other="c"), version(index="d"), version(new="")}) == 4


def test_only_what_is_meant_for_the_page_is_read(tmp_path: Path) -> None:
    for name in ("index.html", "a.js", "a.py", "a.json", ".b.js", "c", "d.js~", "e.HTML"):
        (tmp_path / name).touch()
    assert set(read_page_files(tmp_path).files) == {"a.js", "e.HTML"}


@pytest.mark.parametrize(
    ("accepted", "gzipped"),
    [
        ("gzip", True),
        ("deflate, GZIP;q=0.5, br", True),
        ("*", True),
        ("x-gzip", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("br", False),
        ("identity", False),
        ("", False),
    ],
)
@pytest.mark.parametrize("path", ["/", ICON])
def test_who_takes_gzip_gets_it(
    shared_world: World, path: str, accepted: str, *, gzipped: bool
) -> None:
    client = shared_world.stranger()
    plain = client.ask("GET", path)
    answer = client.ask("GET", path, headers={"Accept-Encoding": accepted})
    assert plain.header("content-encoding") is None
    assert answer.header("content-encoding") == ("gzip" if gzipped else None)
    assert (gzip.decompress(answer.body) if gzipped else answer.body) == plain.body
    assert answer.header("content-length") == str(len(answer.body))
    assert answer.header("vary") == plain.header("vary") == "Accept-Encoding"


def test_what_gzip_would_make_longer_is_sent_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("x" * 1_000, encoding="utf-8")
    (tmp_path / "tiny.js").write_text("1;", encoding="utf-8")
    (tmp_path / "long.js").write_text("1;" * 1_000, encoding="utf-8")
    found = read_page_files(tmp_path).files
    assert found["tiny.js"].gzipped is None
    assert found["long.js"].gzipped is not None


def test_what_a_browser_has_is_not_sent_again(shared_world: World) -> None:
    client = shared_world.stranger()
    tags = {}
    for accepted in ("gzip", "identity"):
        headers = {"Accept-Encoding": accepted}
        tag = client.ask("GET", ICON, headers=headers).header("etag")
        assert tag
        tags[accepted] = tag
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = client.ask("GET", ICON, headers=headers | {"If-None-Match": known})
            assert (again.status, again.body, again.header("etag")) == (304, b"", tag)
            assert again.header("cache-control")
            assert again.header("vary") == "Accept-Encoding"
        assert client.ask("GET", ICON, headers=headers | {"If-None-Match": '"x"'}).status == 200
    assert len(set(tags.values())) == 2  # other bytes, another tag


# ── What is in them ──────────────────────────────────────────────────────────────────────

# Text that becomes markup or a script, and what an own page must not have inline.
DANGEROUS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|setHTMLUnsafe|parseFromString"
    r"|createContextualFragment|srcdoc|\beval\(|new Function"
    r"|javascript:|https?:|[\"'(](?:data:|//)"
)
INLINE = re.compile(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]+src=)")
# The one address without which there is no SVG: a name, at which nobody looks anything up.
NAMESPACE = '"http://www.w3.org/2000/svg"'


def own_texts() -> dict[str, str]:
    """Return the page and the files of it that are ours."""
    found = {
        name: file.plain.decode()
        for name, file in PAGE.files.items()
        if not name.startswith("vendor/") and not file.media_type.startswith("image/png")
    }
    return {**found, "index.html": PAGE.template}


def dangers(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}: {match[0]}"
        for name, text in texts.items()
        for match in pattern.finditer(text.replace(NAMESPACE, '""'))
    ]


def test_nothing_in_the_page_becomes_markup_is_inline_or_comes_from_elsewhere() -> None:
    assert dangers(own_texts(), DANGEROUS) == []
    assert dangers({"index.html": PAGE.template}, INLINE) == []


def test_a_dangerous_line_is_found() -> None:
    """The twin: what must not be in a file is seen if it is."""
    for text in (
        "a.innerHTML = b;",
        'import "https://cdn.example/x.js";',
        "url(//cdn.example/x.png)",
        'fetch("//cdn.example")',
        'href = "javascript:x"',
    ):
        assert dangers({"bad.js": text}, DANGEROUS)


def test_code_of_others_asks_nobody_for_anything() -> None:
    """An address may stand in a comment of theirs, which says where it is from."""
    for name, file in PAGE.files.items():
        if name.startswith("vendor/") and not name.endswith(".txt"):
            text = re.sub(r"/\*.*?\*/", "", file.plain.decode(), flags=re.DOTALL)
            assert dangers({name: text}, DANGEROUS) == []


def _needs(name: str, text: str) -> list[str]:
    """Return the names of all that a file needs, now or later."""
    script = r"""(?:\bfrom|^[ \t]*import|\bimport\()\s*["'](\.[^"'\s]+)["']"""
    style = r"""(?:url\(\s*|@import\s+)["']?([^"')\s]+)"""
    pattern = {"js": script, "css": style}.get(name.rpartition(".")[2], r"(?!)")
    folder = posixpath.dirname(name)
    return [
        posixpath.normpath(posixpath.join(folder, one))
        for one in re.findall(pattern, text, re.MULTILINE)
    ]


def missing(texts: dict[str, str]) -> list[str]:
    return [
        f"{name} needs {one}"
        for name, text in texts.items()
        for one in _needs(name, text)
        if one not in PAGE.files
    ]


def test_every_file_that_a_file_needs_is_there() -> None:
    assert missing(own_texts()) == []


def test_a_file_that_is_not_there_is_missed() -> None:
    """The twin: an import that leads nowhere is seen."""
    assert missing({"app/x.js": 'import { a } from "./nowhere.js";'})
    assert missing({"app/x.js": 'await import("../nowhere.js");'})
    assert missing({"style/x.css": "a { background: url(nowhere.svg); }"})


def test_the_whole_page_is_light() -> None:
    """Everything that there is to load, as it comes over the wire."""
    page = len(PAGE.index(setup="closed", session="open").gzipped or b"")
    files = [file for name, file in PAGE.files.items() if not name.endswith(".txt")]
    assert page + sum(len(file.chosen(takes_gzip=True)[0]) for file in files) < HEAVIEST
