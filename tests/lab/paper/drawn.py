"""Checks that every chapter must pass."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from bandstand_lab.report.figures import new_figure, png, style

if TYPE_CHECKING:
    from bandstand_lab.report.study import Chapter

PNG = b"\x89PNG\r\n\x1a\n"


def assert_whole(chapter: Chapter) -> None:
    """Check that a chapter can be written: words, tables, numbers and figures."""
    assert chapter.introduction
    assert chapter.method
    assert chapter.findings
    for finding in chapter.findings:
        assert all((finding.paper, finding.place, finding.measured, finding.why))
        assert "nan" not in finding.measured
    for table in chapter.tables:
        assert all(len(row) == len(table.columns) for row in table.rows)
    json.dumps(chapter.data, allow_nan=False)
    for drawing in chapter.drawings:
        assert drawing.caption.endswith(".")
        with style():
            figure = new_figure(drawing.width, drawing.height)
            drawing.draw(figure)
            assert png(figure).startswith(PNG)
