"""The commands that look at the page from outside: they measure and show what is there.

How quick the page is depends on the computer, so nothing here asks for that.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.fixtures.browser.page_speed import document, promises
from tests.fixtures.browser.screenshots import IMAGES, SCREENS, THEMES, write
from tests.fixtures.browser.stopwatch import Figures, Load, Pace, measure
from tests.fixtures.browser.views import VIEWS
from tests.fixtures.browser.visit import PAGES

SIZE = 150_000
NEAR = 16  # of 255: as far as a colour may be from what it was


def figures(*, star: float = 50.0, size: int = SIZE, ready: float = 400.0) -> Figures:
    load = Load(ready=ready, requests=3, size=size)
    return Figures(songs=9, ratings=[star] * 9, skips=[star] * 9, cold=[load], warm=[load])


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Figures:
    home, pace = tmp_path_factory.mktemp("home"), Pace(listens=(100, 200), afterwards=500)
    return measure(home, songs=60, ratings=20, clicks=2, loads=1, pace=pace)


def test_clicks_and_loads_of_the_real_page_are_measured(measured: Figures) -> None:
    assert len(measured.ratings) == len(measured.skips) == 2
    assert min(*measured.ratings, *measured.skips) > 0
    assert measured.complaints == []


def test_a_page_that_was_seen_before_needs_less(measured: Figures) -> None:
    (cold,), (warm,) = measured.cold, measured.warm
    assert 0 < warm.size < cold.size
    assert warm.requests < cold.requests
    assert measured.everything.size > cold.size


def test_the_report_can_be_written_as_json(measured: Figures) -> None:
    report = json.loads(json.dumps(document(measured)))
    assert {each["what"] for each in report["promises"]} == {each[0] for each in promises(measured)}
    assert report["times"]["star_to_next_title"]["count"] == 2


def test_what_is_quick_and_small_holds_and_what_is_not_does_not() -> None:
    assert [holds for *_, holds in promises(figures())] == [True] * 5
    slow, large, late = figures(star=151.0), figures(size=200_001), figures(ready=1_001.0)
    assert [promises(each)[k][-1] for k, each in enumerate((slow, large, late))] == [False] * 3
    outside = figures()
    outside.complaints.append("outside: https://elsewhere.example/")
    assert [holds for *_, holds in promises(outside)] == [True, True, True, False, False]


def test_every_page_is_photographed() -> None:
    names = [view.name for view in VIEWS]
    assert len(set(names)) == len(names)
    assert {"player", "why", "song", "playlist", "login", "setup", "taste-empty"} < set(names)
    assert {page or "player" for page in PAGES} <= set(names)


def test_the_documentation_has_all_pictures_and_is_not_heavy() -> None:
    wanted = {
        f"{view.name}-{screen.name}-{theme}.png"
        for view in VIEWS
        for screen in SCREENS
        for theme in THEMES
    }
    there = {path.name: path.stat().st_size for path in IMAGES.glob("*-*-*.png")}
    assert wanted == set(there)
    assert sum(there.values()) < 5_000_000


def test_a_picture_with_few_colours_looks_as_it_was(tmp_path: Path) -> None:
    image = Image.linear_gradient("L").resize((300, 200)).convert("RGB")
    image.putpixel((7, 7), (157, 61, 28))  # a colour that hardly any pixel has
    image.save(tmp_path / "many.png")
    write((tmp_path / "many.png").read_bytes(), tmp_path / "few.png")
    with Image.open(tmp_path / "few.png") as few:
        assert few.mode == "P"
        seen = np.asarray(few.convert("RGB"), dtype=int)
    assert np.abs(seen - np.asarray(image, dtype=int)).max() <= NEAR
