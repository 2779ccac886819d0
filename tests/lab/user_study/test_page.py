"""The page as text: everything is escaped, and nothing is fetched or run."""

import re
from dataclasses import replace

from bandstand_lab.report.page import Written
from bandstand_lab.report.study import Chapter
from bandstand_lab.user_study.page import StudyReport, page
from tests.fixtures.lab.study_reports import real, simulated
from tests.lab.report.test_page import EVIL, LONG, Tags, tags_of


def report(text: str) -> StudyReport:
    """Return a report in which `text` is in every place that takes words from elsewhere."""
    data = simulated(1, ratings=2)
    design = replace(data.design, title=text)
    chapter = Chapter(introduction=text, method=text)
    written = Written(name="ratings", title="Ratings", chapter=chapter, problems=(text,))
    return StudyReport(
        data=replace(data, design=design, remarks=(text,)), answer=text, chapters=(written,)
    )


def test_the_page_says_how_to_make_it_again_and_of_people_how_to_ask_others() -> None:
    data = simulated(1, ratings=2)
    made_up, people = (
        page(StudyReport(data=given, answer="", chapters=())).decode()
        for given in (data, real(data))
    )
    for text in (made_up, people):
        assert "bandstand study report --from OUT/export AGAIN" in text
    assert "people rated each" not in made_up
    assert "study run" not in made_up
    assert "bandstand study run study.toml" in people
    assert "people rated each" in people


def test_what_looks_like_html_is_only_words() -> None:
    harmless, evil = (tags_of(page(report(text)).decode()) for text in (LONG, EVIL))
    assert "script" not in {tag for tag, _ in evil.seen}
    assert [tag for tag, _ in harmless.seen] == [tag for tag, _ in evil.seen]


def test_a_page_that_does_not_escape_is_found_out() -> None:
    careless = page(report("MARK")).decode().replace("MARK", "<script></script>")
    assert "script" in {tag for tag, _ in Tags(careless).seen}


def test_nothing_is_fetched_from_anywhere() -> None:
    text = page(report("plain")).decode()
    for tag, names in tags_of(text).seen:
        assert tag not in {"script", "link", "iframe", "object", "base"}
        for name in ("src", "href"):
            address = names.get(name) or ""
            assert re.match(r"$|#|data:image/png;base64,|data/|export/", address), address
    assert "default-src 'none'" in text.replace("&#39;", "'")


def test_every_link_within_the_page_leads_somewhere() -> None:
    seen = tags_of(page(report("plain")).decode()).seen
    places = {names.get("id") for _, names in seen}
    inside = [names["href"] for _, names in seen if (names.get("href") or "").startswith("#")]
    assert inside
    assert {str(address)[1:] for address in inside} <= places
