"""Which world `bandstand simulate` is asked for: made of numbers, of a file or of a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from bandstand_lab.simulation.tables import read_feature_table, read_tastes
from bandstand_lab.simulation.worlds import GaussianWorld, TableWorld, TasteWorld

if TYPE_CHECKING:
    from pathlib import Path

    from bandstand.types import Matrix
    from bandstand_lab.simulation.worlds import Scale, World


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldOptions:
    """What was said of the world; None where nothing was."""

    songs: int | None
    features: int | None
    noise: float | None
    scale: Scale | None
    catalogue: Path | None
    library: bool
    store: str | None
    taste: Path | None


def world_of(options: WorldOptions) -> World:
    """Return the world that is asked for, or say which options do not go together."""
    _check_one_source(options)
    if options.taste is not None:
        _check_absent(options, "--taste", "features", "scale")
        likings = read_tastes(options.taste)
        given = {"songs": options.songs, "noise_standard_deviation": options.noise}
        return TasteWorld(likings=likings, **_said(given))
    look = _said({"scale": options.scale, "noise_standard_deviation": options.noise})
    if options.catalogue is not None:
        _check_absent(options, "--catalogue", "songs", "features")
        return TableWorld(features=read_feature_table(options.catalogue), **look)
    if options.library:
        _check_absent(options, "--library", "songs", "features")
        return TableWorld(features=_library_features(options.store), **look)
    return GaussianWorld(**_said({"songs": options.songs, "features": options.features}), **look)


def _said(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _check_one_source(options: WorldOptions) -> None:
    given = {
        "--catalogue": options.catalogue is not None,
        "--library": options.library,
        "--taste": options.taste is not None,
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        msg = f"the songs must come from one place, got {' and '.join(names)}"
        raise click.UsageError(msg)


def _check_absent(options: WorldOptions, source: str, *names: str) -> None:
    for name in names:
        if getattr(options, name) is not None:
            msg = f"--{name} does not go with {source}, which has its own"
            raise click.UsageError(msg)


def _library_features(url: str | None) -> Matrix:
    from bandstand.cli.options import opened_store, require_store  # noqa: PLC0415
    from bandstand.music.catalogue.refresh import current  # noqa: PLC0415  # takes a while to import

    require_store(url)
    with opened_store(url) as store:
        catalogue = current(store)
        if catalogue is None:
            msg = "a library with songs was expected, found none; `bandstand scan DIR` fills it"
            raise click.UsageError(msg)
        features: Matrix = np.array(catalogue.features, dtype=np.float64)
    return features
