"""A study's report as people see it: on a desk and on a phone, by day and by night."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from bandstand_lab.user_study.command import write_report
from tests.fixtures.lab.study_reports import simulated

EVIL = "<img src=x onerror=\"document.title='run'\"> and others"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out") / "a report"
    write_report(simulated(6, ratings=6, title=EVIL), out)
    return (out / "index.html").as_uri()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390, 320])
def test_it_reads_well_at_every_size(
    chromium: Browser, address: str, width: int, theme: str
) -> None:
    page = chromium.new_page(
        viewport={"width": width, "height": 800},
        color_scheme="dark" if theme == "dark" else "light",
    )
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    assert page.title() == f"{EVIL} · Bandstand"
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    assert [one for one in asked if not one.startswith("data:")] == [address]
    note = page.get_by_role("note")
    assert note.is_visible()
    assert "Simulated participants." in note.inner_text()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    page.close()
