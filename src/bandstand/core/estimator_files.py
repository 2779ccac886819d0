"""Fitted estimators on disk: NAME.npz for the numbers, NAME.json for the settings.

What is saved is what was told and how it is understood: the history and the settings. The
belief follows from them, so a loaded model learns it again (milliseconds for the exact
engine) and cannot disagree with its history. Nothing is ever pickled, so loading a file
from a stranger runs no code.
"""

from __future__ import annotations

import dataclasses
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bandstand.core import estimators
from bandstand.core.model.history import History
from bandstand.core.model.priors import (
    GammaRecovery,
    ListenerPrior,
    LogNormalRecovery,
    NoisePrior,
    PreferencePrior,
)
from bandstand.errors import InvalidInputError

if TYPE_CHECKING:
    from bandstand.core.estimators import RatingModel
    from bandstand.types import AnyArray

_FORMAT: Final = 1
_MODELS: Final[dict[str, type[RatingModel]]] = {
    kind.__name__: kind
    for kind in (
        estimators.ExactModel,
        estimators.McmcModel,
        estimators.VariationalModel,
        estimators.LeastSquaresModel,
        estimators.RidgeModel,
    )
}
_RECOVERY: Final[dict[str, type[GammaRecovery | LogNormalRecovery]]] = {
    "gamma": GammaRecovery,
    "log-normal": LogNormalRecovery,
}
_ROWS: Final = ("features", "elapsed", "ratings", "weights")


def save(model: RatingModel, path: str | Path) -> None:
    """Write a fitted model to `path`.npz and `path`.json."""
    settings = model.get_params()
    prior = settings.pop("prior", None)
    arrays = {name: getattr(model.fitted_history(), name) for name in _ROWS}
    if prior is not None:
        arrays |= {
            "prior_mean": prior.preference.mean,
            "prior_precision": prior.preference.precision,
        }
    about = {
        "format": _FORMAT,
        "model": type(model).__name__,
        "settings": settings,
        "prior": None if prior is None else _described(prior),
    }
    numbers, text = _files(path)
    np.savez(numbers, **arrays)
    text.write_text(json.dumps(about, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def load(path: str | Path) -> RatingModel:
    """Return the model that `save` wrote to `path`."""
    numbers, text = _files(path)
    about = _read_json(text)
    try:
        # Opened here, so that it is closed whatever numpy makes of it.
        with numbers.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        prior = None if about["prior"] is None else _prior(about["prior"], arrays)
        settings = about["settings"] | ({} if prior is None else {"prior": prior})
        model = _MODELS[about["model"]](**settings)
        history = History.of(**{name: arrays[name] for name in _ROWS})
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as problem:
        msg = f"{numbers} and {text} must be a saved model, got {_first_line(problem)}"
        raise InvalidInputError(msg) from problem
    return model.fit_history(history)


def _files(path: str | Path) -> tuple[Path, Path]:
    base = Path(path)
    return base.with_name(f"{base.name}.npz"), base.with_name(f"{base.name}.json")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        msg = f"{path} must be JSON, got {_first_line(problem)}"
        raise InvalidInputError(msg) from problem
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        msg = f"{path} must describe a saved model of format {_FORMAT}, got something else"
        raise InvalidInputError(msg)
    return about


def _first_line(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}".splitlines()[0]


def _described(prior: ListenerPrior) -> dict[str, Any]:
    recovery = prior.recovery
    for kind, known in _RECOVERY.items():
        if type(recovery) is known:
            numbers = dataclasses.asdict(recovery)
            noise = dataclasses.asdict(prior.noise)
            return {"recovery": {"kind": kind, **numbers}, "noise": noise}
    msg = f"only {' and '.join(_RECOVERY)} recovery priors can be saved, got {type(recovery)}"
    raise InvalidInputError(msg)


def _prior(described: dict[str, Any], arrays: dict[str, AnyArray]) -> ListenerPrior:
    recovery = dict(described["recovery"])
    kind = _RECOVERY[recovery.pop("kind")]
    return ListenerPrior(
        preference=PreferencePrior(mean=arrays["prior_mean"], precision=arrays["prior_precision"]),
        recovery=kind(**recovery),
        noise=NoisePrior(**described["noise"]),
    )
