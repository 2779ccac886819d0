"""The conditionals that samplers draw from are those of the joint, at any point."""

from __future__ import annotations

import numpy as np

from tests.fixtures.statistical import factor_joint, joint

POINTS = 1_000
RELATIVE_ERROR = 1e-9


def test_the_chains_conditionals_agree_with_the_joint() -> None:
    worst = joint.chain_disagreement(POINTS, np.random.default_rng(20130701))
    assert worst < RELATIVE_ERROR


def test_the_reference_samplers_conditional_agrees_with_the_joint() -> None:
    worst = joint.reference_disagreement(POINTS, np.random.default_rng(20130702))
    assert worst < RELATIVE_ERROR


def test_the_gibbs_samplers_conditionals_agree_with_the_joint() -> None:
    worst = factor_joint.gibbs_disagreement(POINTS, np.random.default_rng(20130703))
    assert worst < RELATIVE_ERROR
