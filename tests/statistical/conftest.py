"""Seeds for the long runs: a new one each time, printed so that a failure can be repeated."""

import numpy as np
import pytest


@pytest.fixture
def fresh_rng() -> np.random.Generator:
    """Return a generator whose seed is shown with a failure."""
    seed = np.random.SeedSequence().generate_state(1)[0]
    print(f"seed {seed}")
    return np.random.default_rng(seed)
