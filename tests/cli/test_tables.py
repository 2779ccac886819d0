from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandstand.cli._ranking import HistoryRow, read_history, read_items
from tests.fixtures.cli.files import HISTORY, ITEMS, Files

ids = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def test_items_and_history_are_read(files: Files) -> None:
    items = read_items(files.items, limit=10)
    assert items.ids == ("x", "y", "z", "w")
    assert items.features.tolist() == [[1, 0], [0, 1], [1, 1], [-1, 0.5]]
    assert not items.features.flags.writeable
    history = read_history(files.history, ids=items.ids)
    assert history[0] == HistoryRow("x", Decimal(1_767_261_600), 4.0, 1.0)
    assert len(history) == 5


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: f"\ufeff{text}",
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: f"\n{text}",
        lambda text: text.replace(",", ", ", 2),  # after the names of the header
        lambda text: "\n".join(
            ",".join(quoted(field) for field in line.split(",")) for line in text.splitlines()
        ),
    ],
)
def test_the_same_table_may_be_written_in_many_ways(files: Files, change: object) -> None:
    expected = read_items(files.items, limit=10), read_history(files.history, ids="xyzw")
    files.write(items=change(ITEMS), history=change(HISTORY))  # type: ignore[operator]
    items = read_items(files.items, limit=10)
    assert items.ids == expected[0].ids
    assert items.features.tolist() == expected[0].features.tolist()
    assert read_history(files.history, ids=items.ids) == expected[1]


def test_columns_may_come_in_any_order(files: Files) -> None:
    files.write(items="b,id,a\n0,x,1\n", history="weight,rating,item_id,time\n2,3,x,60\n")
    items = read_items(files.items, limit=10)
    assert (items.ids, items.features.tolist()) == (("x",), [[0, 1]])
    assert read_history(files.history, ids={"x"}) == [HistoryRow("x", Decimal(60), 3.0, 2.0)]


def test_a_history_of_a_header_alone_is_empty(files: Files) -> None:
    files.write(history="item_id,time,rating")
    assert read_history(files.history, ids=()) == []


@given(st.lists(ids, min_size=1, max_size=5, unique=True))
def test_ids_are_kept_letter_by_letter(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    path: Path = tmp_path_factory.mktemp("tables") / "items.csv"
    text = "id,a\n" + "".join(f"{quoted(name)},1\n" for name in names)
    path.write_bytes(text.encode())
    assert read_items(path, limit=10).ids == tuple(names)


def test_ids_that_look_like_numbers_stay_text(files: Files) -> None:
    files.write(items="id,a\n007,1\n7,2\n7.0,3\n a b ,4\n")
    assert read_items(files.items, limit=10).ids == ("007", "7", "7.0", " a b ")


def test_columns_of_text_are_kept_as_they_are(files: Files) -> None:
    files.write(items="writer,a,id,tags\nAnn,1,x,\n7,2,y,a;b\n")
    items = read_items(files.items, limit=10, texts={"artist": "writer", "tags": None})
    assert items.texts == {"artist": ("Ann", "7"), "tags": ("", "a;b")}
    assert items.features.tolist() == [[1], [2]]
    files.write(items="writer,id\nAnn,x\n")
    alone = read_items(files.items, limit=10, texts={"artist": "writer", "tags": "id"})
    assert alone.texts == {"artist": ("Ann",), "tags": ("x",)}
    assert alone.features.shape == (1, 0)
