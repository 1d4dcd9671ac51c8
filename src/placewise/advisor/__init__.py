"""Advice: from a case and a machine to ranked, rewritten and verified placements, times and
counters."""

from placewise.advisor.advice import Advice, Cost, Option, Reason, RunFacts, Verification
from placewise.advisor.advise import FINALISTS, advise
from placewise.advisor.finalists import Demand
from placewise.advisor.forms.legal_placements import legal_placements
from placewise.advisor.forms.verify import verify
from placewise.advisor.prepare import Prepared, prepare

__all__ = [
    "FINALISTS",
    "Advice",
    "Cost",
    "Demand",
    "Option",
    "Prepared",
    "Reason",
    "RunFacts",
    "Verification",
    "advise",
    "legal_placements",
    "prepare",
    "verify",
]
