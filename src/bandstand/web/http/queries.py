"""What may stand in a query: whole numbers of digits only, and text that a store can hold.

Pydantic alone would take "5.0", " 5" and "5_0" for whole numbers.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, StringConstraints

from bandstand.music.catalogue.years import FIRST_YEAR, LAST_YEAR
from bandstand.store.database.values import is_unicode

_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def _whole(value: Any) -> Any:
    if isinstance(value, str) and not _WHOLE.fullmatch(value):
        msg = "must be a whole number"
        raise ValueError(msg)
    return value


def _clean(value: Any) -> Any:
    if isinstance(value, str) and ("\0" in value or not is_unicode(value)):
        msg = "must be valid Unicode without NUL"
        raise ValueError(msg)
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Year = Annotated[Whole, Field(ge=FIRST_YEAR, le=LAST_YEAR)]
Text = Annotated[str, BeforeValidator(_clean)]
Id = Annotated[str, StringConstraints(pattern="^[0-9a-f]{16}$")]
