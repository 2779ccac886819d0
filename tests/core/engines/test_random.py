from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bandstand.core.engines.engine import Engine, Summary
from bandstand.core.engines.random import NoBelief, NoModel
from bandstand.core.model.history import History, Songs

if TYPE_CHECKING:
    from bandstand.core.model.prediction import Prediction

ENGINE: Engine[NoBelief] = NoModel()  # checked by mypy


def test_nothing_is_learnt_and_nothing_is_said() -> None:
    engine, history = NoModel(), History.empty(2)
    longer = history.append(features=[1, 2], elapsed=10, rating=5)
    belief = engine.update(engine.fit(history), longer)
    songs = Songs.of(features=np.ones((3, 2)), elapsed=5)
    prediction: Prediction = engine.predict(engine.plan(belief, songs.take([0])), songs)
    assert belief.history is longer
    assert len(prediction) == 3
    assert prediction.mean() is None
    assert prediction.standard_deviation() is None
    assert prediction.quantile(0.5) is None
    assert prediction.sample(np.random.default_rng(0), 2) is None
    assert prediction.parts() == {}
    assert len(prediction.best_by_quantile(0.5, 2, np.arange(3))) == 0
    assert engine.summary(belief) == Summary()
