"""What a belief says about all songs at once, in a form that holds for every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from bandstand.inference.shortlist.anchor import Anchor
    from bandstand.types import Matrix, Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Bounds of the quantiles of all songs: Q(x) ≤ max_k c_k'x + √(x'Fx) + slack·|x|.

    That is for songs never heard. A song heard lately has no more than max(0, f times the same),
    for a fraction f ≤ 1 that depends on how long ago it was.

    code       maths  shape
    `centres`  c_k    (K, p)
    `spread`   F      (p, p)  symmetric, positive semi-definite
    `slack`                   as a multiple of |x|
    """

    centres: Matrix
    spread: Matrix
    slack: float


class Expectation(Protocol):
    """What anchors and shortlists are made for: an outline."""

    @property
    def centres(self) -> Matrix:
        """The centres of its outline: (K, p)."""
        ...

    @property
    def slack(self) -> float:
        """The slack of its outline."""
        ...

    def outline(self) -> Outline:
        """Return the whole outline; the spread may take a while to compute."""
        ...

    def recovered(self, elapsed: Vector) -> Vector:
        """Return that f for songs heard so many minutes ago; 1 always will do."""
        ...

    def origin(self) -> Any:
        """Return what `View.growth` wants to know later about what an anchor is made of."""
        ...


class View(Expectation, Protocol):
    """One question to a belief: its outline, and how that compares with an earlier one."""

    def growth(self, anchor: Anchor) -> float:
        """Return a g ≥ 0 with F ⪯ g²·(the anchor's F); `anchor.growth(F)` always will do."""
        ...


class Asked(View, Protocol):
    """A question after which another one will come, with an answer between them."""

    @property
    def expects(self) -> object:
        """What will be answered next: equal as long as it is the same."""
        ...

    def after_next(self) -> Expectation | None:
        """Return what it may be after that answer, if that can be told."""
        ...
