"""A benchmark as a process of its own, which ends as a command does."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from bandstand.errors import BandstandError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable


def run_as_program(main: Callable[[str], None]) -> None:
    """Call `main` with the one argument of the command line; what goes wrong is one sentence."""
    try:
        main(sys.argv[1])
    except InvalidInputError as refusal:
        sys.stderr.write(f"Error: {refusal}\n")
        sys.exit(2)
    except (BandstandError, OSError) as problem:
        sys.stderr.write(f"Error: {problem}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
