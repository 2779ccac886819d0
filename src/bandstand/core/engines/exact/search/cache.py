"""What one listener's searches share between two questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bandstand.core.engines.exact.search.candidate_list import CandidateList
    from bandstand.core.engines.song_table import SongTable

# Fewer songs are read again for every question: a list would save nothing.
_LISTED_FROM: Final = 131_072
_LIST_SIZE: Final = 32_768


class SearchCache:
    """The songs, and at most one list of candidates; used by one thread at a time."""

    def __init__(
        self, table: SongTable, *, listed_from: int = _LISTED_FROM, list_size: int = _LIST_SIZE
    ) -> None:
        """Keep a list of about `list_size` songs, where there are `listed_from` or more."""
        self.table, self.listed_from, self.list_size = table, listed_from, list_size
        self.candidates: CandidateList | None = None  # can be dropped at any time
        self.passes = 0  # over all songs, or all of a filter
        self.evaluated = 0  # exact quantiles

    @property
    def nbytes(self) -> int:
        """The size of what is kept for this listener alone."""
        return 0 if self.candidates is None else self.candidates.nbytes
