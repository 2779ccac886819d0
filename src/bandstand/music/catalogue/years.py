"""A range of years: a filter like a ban, as one mask over all songs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand.core.model.candidates import CandidateSet
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.types import AnyArray

# A tag with another year counts as one without.
FIRST_YEAR: Final = 0
LAST_YEAR: Final = 9_999
UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Years:
    """The years from `first` to `last`, both included; either may be open.

    >>> str(Years(first=1970, last=1979)), str(Years(first=1970)), str(Years(last=1979))
    ('1970 to 1979', '1970 and later', '1979 and earlier')
    """

    first: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        """Refuse an impossible range."""
        for year in (self.first, self.last):
            if year is not None and not FIRST_YEAR <= year <= LAST_YEAR:
                msg = f"a year must be between {FIRST_YEAR} and {LAST_YEAR}, got {year}"
                raise InvalidInputError(msg)
        if self.first is not None and self.last is not None and self.first > self.last:
            msg = f"the first year must not be after the last one, got {self}"
            raise InvalidInputError(msg)

    def __bool__(self) -> bool:
        return self.first is not None or self.last is not None

    def __str__(self) -> str:
        if self.last is None:
            return "all years" if self.first is None else f"{self.first} and later"
        return f"{self.last} and earlier" if self.first is None else f"{self.first} to {self.last}"

    def among(self, years: AnyArray, songs: CandidateSet) -> CandidateSet:
        """Return those of `songs` that are known to be of these years."""
        if not self:
            return songs
        first = FIRST_YEAR if self.first is None else self.first
        marked = years >= np.int16(first)
        if self.last is not None:
            marked &= years <= np.int16(self.last)
        if songs.mask is not None:
            marked &= songs.mask
        return CandidateSet.marked(marked)


ALL_YEARS: Final = Years()


def year_code(year: int | None) -> int:
    """Return a year as a column of 16 bits holds it.

    >>> year_code(1999), year_code(None), year_code(123_456)
    (1999, -1, -1)
    """
    return year if year is not None and FIRST_YEAR <= year <= LAST_YEAR else UNKNOWN
