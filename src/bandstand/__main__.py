"""`python -m bandstand`: the same as the command `bandstand`."""

import sys

from bandstand.cli import main

if __name__ == "__main__":
    sys.exit(main())
