"""The main job: a case and a machine in, advice out."""

from placewise.advise.advice import Advice, Cost, Option, Reason, RunFacts, Verification
from placewise.advise.advise import FINALISTS, advise
from placewise.advise.placements import legal_placements
from placewise.advise.prepare import Prepared, prepare
from placewise.advise.verify import verify

__all__ = [
    "FINALISTS",
    "Advice",
    "Cost",
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
