"""Everything that Bandstand raises on purpose.

    BandstandError
    ├── InvalidInputError (also a ValueError)   the caller gave something we cannot use
    ├── NotFittedError (also a ValueError)      asked for an answer before any `fit`
    └── ConvergenceError                        an iteration ended without an answer

Every message says what was expected and then what came:
"weights must not be negative, got -1.0 in row 3".
"""


class BandstandError(Exception):
    """The root of everything that Bandstand raises on purpose."""


class InvalidInputError(BandstandError, ValueError):
    """The caller gave something that cannot be used; the message says what was expected."""


class NotFittedError(BandstandError, ValueError):
    """A model was asked for an answer before it was fitted."""


class ConvergenceError(BandstandError):
    """An iterative method ended without a trustworthy answer."""
