"""Everything that Bandstand raises on purpose.

    BandstandError
    ├── InvalidInputError (also a ValueError)   the caller gave something we cannot use
    ├── NotFittedError (also a ValueError)      asked for an answer before any `fit`
    ├── ConvergenceError                        an iteration ended without an answer
    ├── UnreadableAudioError                    a file holds no sound that can be decoded
    └── StoreError                              the store cannot do what it was asked to
        ├── StoreLockedError                    somebody else is writing to it for too long
        └── StoreVersionError                   it was made by a newer Bandstand

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


class UnreadableAudioError(BandstandError):
    """A file holds no sound that can be decoded; the message says why."""


class StoreError(BandstandError):
    """The store cannot be opened, or cannot do what it was asked to."""


class StoreLockedError(StoreError):
    """Another program has been writing to the store for longer than we wait."""


class StoreVersionError(StoreError):
    """The store was made by a newer Bandstand than this one."""
