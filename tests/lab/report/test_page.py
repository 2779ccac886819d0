"""The report as text: everything is said, and everything is escaped."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from bandstand_lab.report.page import (
    ReproductionReport,
    StudyTime,
    Written,
    chapter_html,
    page,
    paragraphs,
    tally,
)
from bandstand_lab.report.study import (
    Cell,
    Chapter,
    Drawing,
    Finding,
    Plan,
    Table,
    Verdict,
)

EVIL = '<script>alert("1")</script><img src=x onerror=alert(1)> & \' `</code><script>`'
LONG = f"plain `code` and {'more ' * 10}words"  # as EVIL is, which changes how cells are set


def report(
    text: str = "plain", verdicts: tuple[Verdict, ...] = tuple(Verdict)
) -> ReproductionReport:
    """Return a report in which `text` is in every place that takes words."""
    chapter = Chapter(
        introduction=text,
        method=text,
        findings=tuple(
            Finding(paper=text, place=text, measured=text, verdict=verdict, why=text)
            for verdict in verdicts
        ),
        tables=(
            Table(
                name="t", title=text, columns=(text, "n"), rows=((text, 1), ("b", None)), note=text
            ),
        ),
        drawings=(Drawing(name="figure", caption=text, draw=lambda _: None),),
    )
    written = Written(
        name="study",
        title=text,
        chapter=chapter,
        pictures={"figure": b"\x89PNG"},
        files=("data/study/t.csv",),
        problems=(text,),
    )
    return ReproductionReport(
        plan=Plan(size="quick", seed=2, histories=(Path(text.replace("/", "")),)),
        chapters=(written,),
        absent=(text,),
        machine={"python": text},
        times=(StudyTime(title=text, jobs=2, seconds=61.0),),
        finished="2026-01-02 03:04:05 UTC",
    )


class Tags(HTMLParser):
    """Which elements a page has, and whether each is closed in its turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags_of(text: str) -> Tags:
    tags = Tags(text)
    assert tags.open == []
    return tags


def test_what_looks_like_html_is_only_words() -> None:
    harmless, evil = (tags_of(page(report(text)).decode()) for text in (LONG, EVIL))
    assert "script" not in {tag for tag, _ in evil.seen}
    assert [tag for tag, _ in harmless.seen] == [tag for tag, _ in evil.seen]
    assert [set(names) for _, names in harmless.seen] == [set(names) for _, names in evil.seen]


def test_a_page_that_does_not_escape_is_found_out() -> None:
    escaped = page(report("MARK")).decode()
    careless = escaped.replace("MARK", "<script></script>")
    assert "script" in {tag for tag, _ in Tags(careless).seen}
    assert len(Tags(careless).seen) > len(Tags(escaped).seen)


def test_nothing_is_fetched_from_anywhere() -> None:
    text = page(report()).decode()
    for tag, names in tags_of(text).seen:
        assert tag not in {"script", "link", "iframe", "object", "base"}
        for name in ("src", "href"):
            address = names.get(name) or ""
            assert re.match(r"$|#|data:image/png;base64,|data/|findings\.json|run\.json", address)
    assert "url(" not in text
    assert "@import" not in text
    assert "default-src 'none'" in text.replace("&#39;", "'")


def test_every_claim_is_on_top_with_its_verdict() -> None:
    text = page(report()).decode()
    summary = text.split('id="summary"')[1].split("</section>")[0]
    for verdict in Verdict:
        assert f"{verdict}</span>" in summary
    assert "4 claims, and what became of them" in summary
    assert tally(report().chapters) == dict.fromkeys(Verdict, 1)


@pytest.mark.parametrize(("rows", "said"), [(24, False), (25, True)])
def test_a_table_that_goes_on_below_its_window_says_so(rows: int, said: bool) -> None:
    table = Table(
        name="long", title="Long", columns=("n",), rows=tuple((row,) for row in range(rows))
    )
    chapter = Chapter(introduction="", method="", tables=(table,))
    text = chapter_html(1, Written(name="long", title="Long", chapter=chapter))
    assert (f"{rows} rows; scroll, or the " in text) == said


def test_every_link_within_the_page_leads_somewhere() -> None:
    seen = tags_of(page(report()).decode()).seen
    places = {names.get("id") for _, names in seen}
    inside = [names["href"] for _, names in seen if (names.get("href") or "").startswith("#")]
    assert inside
    assert {str(address)[1:] for address in inside} <= places


def test_the_page_says_how_to_repeat_it() -> None:
    text = page(report()).decode()
    assert "bandstand reproduce OUT --quick --seed 2 --history plain" in text
    assert ">1 min<" in text


def test_a_picture_has_words_for_those_who_do_not_see_it() -> None:
    (image,) = (
        names for tag, names in tags_of(page(report("A rising line")).decode()).seen if tag == "img"
    )
    assert image["alt"] == "A rising line"


def test_a_report_without_chapters_is_a_page_too() -> None:
    empty = ReproductionReport(
        plan=Plan(size="full"), chapters=(), absent=(), machine={}, times=(), finished=""
    )
    text = page(empty).decode()
    tags_of(text)
    assert "No claim was examined" in text
    assert "quick size" not in text


@pytest.mark.parametrize("text", ["", "\n\n", " \n \n "])
def test_no_words_are_no_paragraph(text: str) -> None:
    assert paragraphs(text) == ""


@pytest.mark.parametrize(
    ("cells", "is_right"),
    [
        ((1, None, 2.5), True),
        (("0.12 ± 0.03", "−4 to 5", "75%", "", "–", "< 0.001", None), True),
        (("0.12 ± 0.03", "none"), False),
        ((), True),
    ],
)
def test_columns_of_numbers_are_on_the_right(cells: tuple[Cell, ...], is_right: bool) -> None:
    table = Table(name="t", title="T", columns=("a",), rows=tuple((cell,) for cell in cells))
    chapter = Chapter(introduction="", method="", tables=(table,))
    written = Written(name="s", title="S", chapter=chapter)
    assert ('<th scope="col" class="number">a</th>' in chapter_html(1, written)) == is_right
