"""Units as types, and the few lengths of time that the model names."""

from typing import Final, NewType

Minutes = NewType("Minutes", float)

# A song never heard counts as heard this long ago, and no elapsed time counts
# as longer (paper, section 5.2.1: "one month").
MONTH: Final = Minutes(43_200.0)
