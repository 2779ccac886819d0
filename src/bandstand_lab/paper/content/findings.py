"""The paper's claims about its content model, judged by stated rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bandstand_lab.content.comparison import p_text
from bandstand_lab.content.simulated import (
    PAPER_CONTENT_RMSE,
    PAPER_RANDOM_RMSE,
    PAPER_SPREAD,
)
from bandstand_lab.report.study import Finding, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bandstand_lab.content.comparison import Compared, Comparison

_LEVEL: Final = 0.05
_PLACE: Final = "Section 5.1.2"
_BLIND_IN_WORDS: Final = {
    True: "also predicted better than at random",
    False: "predicted worse than at random",
    None: "not clearly told from random ones",
}


def below_random(real: Comparison | None, simulated: Comparison, share: float) -> Finding:
    """Return whether the content model is below random draws of the same distribution."""
    comparison = simulated if real is None else real
    against = rival(comparison, "random")
    whose = (
        f"{len(comparison.raters)} simulated raters, {share:.0%} of their feeling in the features"
        if real is None
        else f"{len(comparison.raters)} raters of your file"
    )
    return Finding(
        paper=f"The 10-fold cross-validated RMSE of Uc is {PAPER_CONTENT_RMSE:.2f}, significantly "
        f"below the {PAPER_RANDOM_RMSE:.2f} of random ratings of the same distribution.",
        place=_PLACE,
        measured=f"With {whose}: content model {shown(comparison, 'content')}, random "
        f"{shown(comparison, 'random')}{_p(against)}.",
        verdict=_below_random_verdict(real, against),
        why="For real ratings it holds if the content model is below random, p < 0.05, two-sided "
        "and paired by rater, does not if it is above with p < 0.05, and else cannot be told. "
        "The paper's ratings are not to be had; simulated raters like songs by their features "
        "because they were made so, which shows that the method works and nothing about people. "
        "Give items and ratings of your own to have it judged.",
    )


def features_inform(
    real: Comparison | None, blind: Comparison, by_share: Mapping[float, Comparison]
) -> Finding:
    """Return whether that comparison shows that features are useful."""
    if real is not None:
        return _real_features_inform(real)
    against = rival(blind, "random")
    gain = 1 - PAPER_CONTENT_RMSE / PAPER_SPREAD
    share = share_at(by_share, PAPER_CONTENT_RMSE)
    implied = (
        ""
        if share is None
        else f" For raters like ours it would take features that carry about {share:.0%} of the "
        "feeling to get there."
    )
    return Finding(
        paper="Being below random, the features indeed provide useful information.",
        place=_PLACE,
        measured="Raters whose ratings have nothing to do with the features are "
        f"{_BLIND_IN_WORDS[is_below(against)]}: {shown(blind, 'content')} against "
        f"{shown(blind, 'random')}{_p(against)}; the mean alone gets {shown(blind, 'mean')}. The "
        f"paper's {PAPER_RANDOM_RMSE:.2f} implies that always saying the mean would have been off "
        f"by {PAPER_SPREAD:.2f}, and {PAPER_CONTENT_RMSE:.2f} is {gain:.1%} below that.{implied}",
        verdict=_inform_verdict(fooled=is_below(against), gain=gain),
        why="Random draws are off by √2 standard deviations and a constant by one, so anything "
        "that has learnt the mean is below random. The argument does not hold if blind features "
        "pass it (below random, two-sided p < 0.05), and is open if that is not seen; the "
        "conclusion may hold, as far as the paper's number is below the mean's: then it holds "
        "partly. How sure that is cannot be told without its ratings; if its random ratings were "
        "drawn from those of all students together, the mean was off by less.",
    )


def _real_features_inform(real: Comparison) -> Finding:
    against, ridge = rival(real, "mean"), real.explained("ridge")
    told = "" if ridge is None else f" Ridge regression explains {ridge.mean:.1%} of the variance."
    return Finding(
        paper="Being below random, the features indeed provide useful information.",
        place=_PLACE,
        measured=f"Your raters: content model {shown(real, 'content')}, the mean "
        f"{shown(real, 'mean')}{_p(against)}.{told}",
        verdict=below_verdict(is_below(against)),
        why="Anything that has learnt the mean is below random, so the mean is the one to beat: "
        "it holds if the content model is below it with p < 0.05, two-sided and paired by rater, "
        "does not if it is above with p < 0.05, and cannot be told otherwise.",
    )


def share_at(by_share: Mapping[float, Comparison], rmse: float) -> float | None:
    """Return at which share of the features the content model's error is `rmse`, between worlds.

    None if it is so in none of them.
    """
    places = sorted(by_share)
    errors = [by_share[share].estimate("content").mean for share in places]
    if not min(errors) <= rmse <= max(errors) or np.any(np.diff(errors) >= 0):
        return None
    return float(np.interp(-rmse, [-error for error in errors], places))


def rival(comparison: Comparison, name: str) -> Compared | None:
    """Return the content model against one rival, or None with a single rater."""
    return next((each for each in comparison.against_rivals() if each.rival == name), None)


def is_below(against: Compared | None) -> bool | None:
    """Return whether the content model's error is below the rival's, by the two-sided test.

    False is: above it. None is: cannot be told.
    """
    if against is None or against.difference.p_value >= _LEVEL:
        return None
    return against.difference.mean < 0


def below_verdict(below: bool | None) -> Verdict:  # noqa: FBT001 - the answer that is judged
    """Return the verdict on: the content model's error is below the rival's."""
    if below is None:
        return Verdict.OPEN
    return Verdict.HOLDS if below else Verdict.FAILS


def shown(comparison: Comparison, predictor: str) -> str:
    """Return a mean error with its standard error."""
    estimate = comparison.estimate(predictor)
    error = "" if estimate.standard_error is None else f" ± {estimate.standard_error:.3f}"
    return f"{estimate.mean:.3f}{error}"


def _p(against: Compared | None) -> str:
    return "" if against is None else f" ({p_text(against.difference.p_value)})"


def _below_random_verdict(real: Comparison | None, against: Compared | None) -> Verdict:
    # Simulated raters say nothing about people, however clear they are.
    return Verdict.OPEN if real is None else below_verdict(is_below(against))


def _inform_verdict(*, fooled: bool | None, gain: float) -> Verdict:
    # An argument that was not caught is not thereby shown to be right.
    if not fooled:
        return Verdict.OPEN
    return Verdict.PARTLY if gain > 0 else Verdict.FAILS
