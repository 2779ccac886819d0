"""Array types, and the one way to make an array that nobody can change."""

from typing import Any, TypeAlias

import numpy as np

Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.float64]]
# A stack of matrices, one for each node of a grid or each chain of a sampler.
Stack: TypeAlias = np.ndarray[tuple[int, int, int], np.dtype[np.float64]]
# A catalogue's features, in single or double precision, perhaps mapped from a file.
Features: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.floating[Any]]]
Indices: TypeAlias = np.ndarray[tuple[int], np.dtype[np.intp]]
AnyArray: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def frozen(array: Any) -> Any:
    """Return `array` as a read-only float64 view; the values are not copied."""
    view = np.asarray(array, dtype=np.float64).view()
    view.flags.writeable = False
    return view


def read_only(array: Any) -> Any:
    """Return `array` as a read-only view of whatever type it is; the values are not copied."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
