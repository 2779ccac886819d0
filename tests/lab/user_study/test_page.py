"""The page as text: everything is escaped, and nothing is fetched or run."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from bandstand.study.design import Design
from bandstand_lab.report.page import Written
from bandstand_lab.report.study import Chapter
from bandstand_lab.user_study.page import StudyReport, commands, page
from bandstand_lab.user_study.simulated import simulated_study
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


@pytest.mark.parametrize("effects", [{}, {"greedy-cn": 0.25, "random": -1.5}])
def test_the_page_of_simulated_people_says_how_to_simulate_them_again(
    effects: dict[str, float],
) -> None:
    design = Design(algorithms=("random", "greedy-cn"), ratings_per_arm=2)
    for given, file in ((design, "study.toml OUT"), (Design(), "OUT")):
        rng = np.random.default_rng(given.seed)
        data = simulated_study(given, people=3, effects=effects, rng=rng)
        first, last = commands(data).splitlines()
        typed = "".join(f" --effect {name}={size:g}" for name, size in effects.items())
        assert first == f"bandstand study report {file} --simulate 3{typed}"
        assert last == "bandstand study report --from OUT/export AGAIN"
        text = page(StudyReport(data=data, answer="", chapters=())).decode()
        assert first in text
        assert "people rated each" not in text
        assert "study run" not in text


def test_the_page_of_people_says_how_to_ask_others() -> None:
    data = real(simulated(1, ratings=2))
    text = page(StudyReport(data=data, answer="", chapters=())).decode()
    assert "bandstand study run study.toml" in text
    assert "--simulate" not in text
    assert "people rated each" in text


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
