"""Verdicts on the paper's claims: of simulated people nothing follows, whatever the numbers are."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bandstand_lab.report.study import Verdict

if TYPE_CHECKING:
    from bandstand.study.records import StudyData
    from bandstand_lab.report.study import Finding

_SIMULATED: Final = (
    "The participants were simulated, so nothing follows for the claim; the numbers only show "
    "what the analysis finds in what was planted."
)


def judged(data: StudyData, finding: Finding) -> Finding:
    """Return a claim with its verdict, which is open where no person has said anything."""
    if not data.simulated:
        return finding
    return replace(finding, verdict=Verdict.OPEN, why=_SIMULATED)
