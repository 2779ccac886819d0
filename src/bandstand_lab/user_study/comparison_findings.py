"""The paper's claims about its people's ratings beside what was seen here, by stated rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.figures import in_order
from bandstand_lab.report.spoken import spoken
from bandstand_lab.report.study import Finding, Verdict
from bandstand_lab.user_study.analysis import FEWEST_PEOPLE, favours, favours_somewhere
from bandstand_lab.user_study.judging import judged
from bandstand_lab.user_study.words import counted, p_said, stars

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bandstand.study.records import StudyData
    from bandstand_lab.user_study.analysis import Analysis, Comparison

_PLACE: Final = "Section 5.3.1, Figure 10"
_GREEDY: Final = "greedy-cn"
_SAMPLED: Final = ("bayes-ucb-cn", "bayes-ucb-cn-x")  # the same model, sampled or solved
_VARIATIONAL: Final = "bayes-ucb-cn-v"
_WITH_NOVELTY: Final = ("linucb-cn", _GREEDY, *_SAMPLED, _VARIATIONAL)
_SAMPLED_CLAIM: Final = (
    "Bayes-UCB-CN is rated higher than Greedy-CN from the 45th song on (p < 0.039 at each n, 15 "
    "people, not corrected)."
)
_VARIATIONAL_CLAIM: Final = (
    "Bayes-UCB-CN-V is rated higher than Greedy-CN from the 42nd to the 141st song (p < 0.05), "
    "and afterwards less surely (p < 0.1)."
)
_NOVELTY_CLAIM: Final = (
    "All algorithms with novelty are rated higher than LinUCB-C, which has none."
)
_RULE: Final = (
    "Rule: rated clearly higher in the end in every pair that was tested is ‘holds’, in some "
    "pairs or at some n ‘holds partly’, clearly lower in the end in any ‘does not hold’, else it "
    f"cannot be told. Clear: corrected p ≤ 0.05 in the end with at least {FEWEST_PEOPLE} people."
)


def findings(data: StudyData, analysis: Analysis) -> tuple[Finding, ...]:
    """Return the claims that the study's algorithms allow to look at."""
    ours = next((name for name in _SAMPLED if name in data.design.algorithms), _SAMPLED[-1])
    above = f"{spoken(ours)} is rated higher than LinUCB-CN, which adds novelty to liking."
    claims = (
        (_SAMPLED_CLAIM, [(ours, _GREEDY)]),
        (_VARIATIONAL_CLAIM, [(_VARIATIONAL, _GREEDY)]),
        (_NOVELTY_CLAIM, [(name, "linucb-c") for name in in_order(_WITH_NOVELTY)]),
        (above, [(ours, "linucb-cn")]),
    )
    found = (_finding(data, analysis, claim, pairs) for claim, pairs in claims)
    return tuple(finding for finding in found if finding is not None)


def _finding(
    data: StudyData, analysis: Analysis, claim: str, pairs: Sequence[tuple[str, str]]
) -> Finding | None:
    tested = [found for pair in pairs if (found := _between(analysis, *pair)) is not None]
    if not tested:
        return None
    finding = Finding(
        paper=claim,
        place=_PLACE,
        measured=" ".join(_said(each, level=analysis.level) for each in tested),
        verdict=_verdict(tested, analysis.level),
        why=_RULE,
    )
    return judged(data, finding)


def _between(analysis: Analysis, first: str, second: str) -> Comparison | None:
    """Return a comparison in this direction, whichever way it was tested."""
    found = analysis.between(first, second)
    if found is not None:
        return found
    other = analysis.between(second, first)
    if other is None:
        return None
    return replace(other, first=first, second=second, mean=-other.mean, t=-other.t)


def _verdict(tested: Sequence[Comparison], level: float) -> Verdict:
    signs = [favours(each, level) for each in tested]
    if -1 in signs:
        return Verdict.FAILS
    if all(sign == 1 for sign in signs):
        return Verdict.HOLDS
    somewhere = [favours_somewhere(each, level) for each in tested]
    return Verdict.PARTLY if 1 in signs or 1 in somewhere else Verdict.OPEN


def _said(each: Comparison, *, level: float) -> str:
    since = each.significant_from(level)
    clear = ""
    if since is not None:
        clear = f"; corrected for all n and pairs, at most {level:g} from n = {since} on"
    return (
        f"{spoken(each.first)} against {spoken(each.second)}: "
        f"{stars(float(each.mean[-1]))} stars after {counted(each.last, 'song')} "
        f"({int(each.counts[-1])} people, {p_said(float(each.p_values[-1]))}, corrected "
        f"{p_said(each.p_last_holm)}{clear})."
    )
