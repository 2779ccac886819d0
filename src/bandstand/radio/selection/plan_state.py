"""Where a listener stands from song to song, in fact or on a simulated clock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bandstand.types import Minutes

if TYPE_CHECKING:
    from bandstand.core.playlist import PlanState
    from bandstand.music.catalogue.catalogue import Catalogue
    from bandstand.radio.selection.learner import Learner


@dataclass(frozen=True, slots=True, kw_only=True)
class Evening:
    """A scene, and what matters to the rules: the last songs, and those that are planned."""

    shelf: Catalogue
    learner: Learner | None
    scene: PlanState
    last: tuple[int, ...]  # rows, the latest at the end
    planned: tuple[int, ...] = ()  # of this playlist, and what was queued before it

    def played_on(self, row: int) -> Evening:
        """Return the evening when the song in `row`, whose play is counted already, is over."""
        scene = self.scene
        end = Minutes(scene.now + float(self.shelf.minutes[row]))
        listening = replace(scene.listening.after(row, end), recent=scene.listening.recent)
        return replace(self, scene=replace(scene, listening=listening, now=end))

    def after(self, row: int) -> Evening:
        """Return the evening after the song in `row`."""
        scene, length = self.scene, float(self.shelf.minutes[row])
        if self.learner is None or not self.shelf.has_features[row]:
            later = replace(self.played_on(row).scene, step=scene.step + 1)
        else:
            later = scene.after(row, length, self.learner.engine, self.learner.catalogue)
        last = (*(other for other in self.last if other != row), row)
        return replace(self, scene=later, last=last)

    def after_planned(self, row: int) -> Evening:
        """Return the evening after the song in `row` of this playlist."""
        return replace(self.after(row), planned=(*self.planned, row))
