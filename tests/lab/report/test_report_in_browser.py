"""The report as people see it: on a desk and on a phone, by day and by night, and on paper."""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from bandstand_lab.paper.reproduce import reproduce
from bandstand_lab.report.study import Chapter, Finding, Plan, Study, Table, Verdict
from tests.fixtures.lab.small_study import job, small_study, study_of_jobs

SIZES = [(1440, 900), (390, 844), (320, 640)]
EVIL = "<script>document.title = 'run'</script><img src=x onerror=\"document.title='run'\">"


def wide_study() -> Study:
    """Return a study with what does not fit on a phone, and words that want to be a script."""
    finding = Finding(
        paper=f"Unbreakable {'x' * 90} words {EVIL}",
        place="Section 5.2.1, Figure 6",
        measured="`bayes-ucb-cn-x` loses 1,485 ± 31.",
        verdict=Verdict.PARTLY,
        why="By a rule.",
    )
    table = Table(
        name="wide",
        title="A wide and long table",
        columns=tuple(f"column {number}" for number in range(12)),
        rows=tuple(tuple(float(row * place) for place in range(12)) for row in range(30)),
    )
    chapter = Chapter(introduction="Is it?", method=EVIL, findings=(finding,), tables=(table,))
    return study_of_jobs(job("a", "chatting", text="a"), name="wide", title="Wide", given=chapter)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("out") / "a report"
    bad = study_of_jobs(job("f", "failing", reason=EVIL), name="bad", title="Bad")
    studies = [small_study(), wide_study(), bad]
    reproduce(out, Plan(size="quick"), studies, workers=1)
    return (out / "index.html").as_uri()


def opened(chromium: Browser, address: str, size: tuple[int, int], theme: str) -> Page:
    page = chromium.new_page(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if theme == "dark" else "light",
    )
    page.goto(address)
    return page


def background(page: Page) -> int:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(","))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_it_reads_well_at_every_size(
    chromium: Browser, address: str, size: tuple[int, int], theme: str
) -> None:
    page = opened(chromium, address, size, theme)
    try:
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size[0]
        assert (background(page) > 384) == (theme == "light")
        assert page.evaluate("[...document.images].every((one) => one.naturalWidth > 0)")
    finally:
        page.close()


@pytest.mark.parametrize(("size", "theme"), [(SIZES[0], "light"), (SIZES[1], "dark")])
def test_an_audit_finds_nothing(
    chromium: Browser, address: str, size: tuple[int, int], theme: str
) -> None:
    page = opened(chromium, address, size, theme)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
    page.close()


def test_nothing_is_asked_of_anybody_and_nothing_runs(chromium: Browser, address: str) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    complaints: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(address)
    assert page.title() == "A music recommender's claims, run again · Bandstand"
    assert [one for one in asked if not one.startswith("data:")] == [address]
    assert complaints == []
    page.close()


def test_on_paper_long_tables_are_whole_and_the_page_is_white(
    chromium: Browser, address: str
) -> None:
    page = opened(chromium, address, (1000, 900), "dark")
    page.emulate_media(media="print", color_scheme="dark")
    clipped = "(one) => one.scrollHeight > one.clientHeight + 1"
    assert not page.evaluate(f"[...document.querySelectorAll('.long .scroll')].some({clipped})")
    assert background(page) == 3 * 255
    page.emulate_media(media="screen")
    assert page.evaluate(f"[...document.querySelectorAll('.long .scroll')].some({clipped})")
    page.close()
