"""Everything that Bandstand raises on purpose.

    BandstandError
    ├── InvalidInputError (also a ValueError)   the caller gave something we cannot use
    │   ├── NotFoundError                       there is no such song, account, playlist or event
    │   ├── ConflictError                       it does not go with what is already there
    │   │   ├── NameTakenError                  another account has this name
    │   │   └── LastAdminError                  no administrator would be left who can log in
    │   ├── WeakPasswordError                   an attacker would try this password first
    │   └── KeyReusedError                      a request's key came again with something else
    ├── NotFittedError (also a ValueError)      asked for an answer before any `fit`
    ├── ConvergenceError                        an iteration ended without an answer
    ├── UnreadableAudioError                    a file holds no sound that can be decoded
    ├── RefusedError                            a rule of the study does not allow it now
    └── StoreError                              the store cannot do what it was asked to
        ├── StoreLockedError                    another program is writing to it for too long
        ├── StoreFullError                      its disk is full; it works again when there is room
        ├── StoreFailedError                    its disk failed; nothing more is written
        ├── StudyUnreadableError                what it has of the open study makes no sense
        └── StoreVersionError                   it was made by a newer Bandstand

Every message says what was expected and then what came:
"weights must not be negative, got -1.0 in row 3".
"""

from __future__ import annotations

from collections.abc import Callable


class BandstandError(Exception):
    """The root of everything that Bandstand raises on purpose."""


class InvalidInputError(BandstandError, ValueError):
    """The caller gave something that cannot be used; the message says what was expected."""


class NotFoundError(InvalidInputError):
    """There is no such song, account, playlist or event."""


class ConflictError(InvalidInputError):
    """What was asked does not go with what is already there."""


class NameTakenError(ConflictError):
    """Another account has this name, in upper or lower case."""


class LastAdminError(ConflictError):
    """No administrator would be left who can log in."""


class WeakPasswordError(InvalidInputError):
    """A new password is one that an attacker would try first."""


class KeyReusedError(InvalidInputError):
    """The key of an earlier request came again with something else."""


class NotFittedError(BandstandError, ValueError):
    """A model was asked for an answer before it was fitted."""


class ConvergenceError(BandstandError):
    """An iterative method ended without a trustworthy answer."""


class UnreadableAudioError(BandstandError):
    """A file holds no sound that can be decoded; the message says why."""


class RefusedError(BandstandError):
    """A rule of the study does not allow it now.

    `code` is the rule in a word, `until` the moment from which it is allowed (milliseconds
    since 1970), where there is one.

    >>> refusal = RefusedError("a rest of 4 min must pass, got 3", code="resting", until=40_000)
    >>> str(refusal), refusal.code, refusal.until
    ('a rest of 4 min must pass, got 3', 'resting', 40000)
    """

    def __init__(self, message: str, *, code: str, until: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.until = until

    def __reduce__(self) -> tuple[Callable[..., RefusedError], tuple[str, str, int | None]]:
        """Return how another process makes the same: one that cannot would wait for ever."""
        return _refused, (self.message, self.code, self.until)


def _refused(message: str, code: str, until: int | None) -> RefusedError:
    return RefusedError(message, code=code, until=until)


class StoreError(BandstandError):
    """The store cannot be opened, or cannot do what it was asked to."""


class StoreLockedError(StoreError):
    """Another program has been writing to the store for longer than we wait."""


class StoreFullError(StoreError):
    """The store's disk is full; it can be written again as soon as there is room."""


class StoreFailedError(StoreError):
    """The store's disk failed to keep what was written; nothing more is written to it."""


class StudyUnreadableError(StoreError):
    """What the store has of the study that is open cannot be read."""


class StoreVersionError(StoreError):
    """The store was made by a newer Bandstand than this one."""
