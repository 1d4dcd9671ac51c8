"""Advice: the ranked placements of a case on a machine, with reasons, costs and proofs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from placewise.advisor.documents.advice import advice_document
from placewise.advisor.forms.timing import Timed
from placewise.choose import Choice
from placewise.dataframe import dataframe
from placewise.kernel.binary.surviving_hints import HintFate
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.memory.occupancy import Occupancy
from placewise.model import Prediction, Ratio
from placewise.notebook import ShownInNotebooks
from placewise.rewriter import Rewritten
from placewise.short_repr import ShortRepr
from placewise.space import Placement

if TYPE_CHECKING:
    from pandas import DataFrame

    from placewise.advisor.explain.benign_races import BenignRace


@dataclass(frozen=True)
class Service:
    """What one array asks for in one space over the whole launch, and which memories serve it."""

    space: str
    path: str
    requests: float
    """Number of warp accesses."""
    lanes_per_request: float
    transactions_per_request: float
    """Transactions of a warp access in the memory nearest to the cores."""
    served: tuple[tuple[str, float], ...]
    """(memory, share of the transactions that it serves), nearest to the cores first. For a form
    that was timed these are shares of the sectors that its loads ask for, from the simulated
    caches."""
    cycles: float
    """Cost in cycles of the path model, with the traffic that fills and empties tiles."""


@dataclass(frozen=True)
class Reason:
    """Why one array gains or loses by its move."""

    array: str
    before: Service
    after: Service

    @property
    def text(self) -> str:
        """The reason in one sentence."""
        change = "costs less" if self.after.cycles < self.before.cycles else "costs no less"
        main = max(self.after.served, key=lambda pair: pair[1], default=("nothing", 0.0))
        return (
            f"{self.array} in {self.after.space} {change} than in {self.before.space}: "
            f"{self.after.transactions_per_request:.3g} transactions per request "
            f"(now {self.before.transactions_per_request:.3g}), {main[1]:.0%} of them served by "
            f"{main[0]}, on path {self.after.path} (now {self.before.path})"
        )


@dataclass(frozen=True)
class Cost:
    """What a move costs beside the kernel's own time: filling, staging, copying back."""

    array: str
    text: str
    host_bytes: int
    """Bytes that the host copies once, before the launches (0 where the data stays in global
    memory)."""
    host_us: float | None
    """Time of that copy in microseconds, None where the machine file has no copy bandwidth."""
    staged_bytes: int
    """Bytes that all blocks of one launch together move between global and shared memory."""


@dataclass(frozen=True)
class Verification:
    """Outcome of compiling and executing the rewritten kernel on the case's own inputs."""

    identical: bool
    detail: str
    arrays: tuple[str, ...]
    """Arrays that were compared bit for bit."""

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON types."""
        return {
            "identical": self.identical,
            "detail": self.detail,
            "arrays": list(self.arrays),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Option(ShortRepr):
    """One placement with its prediction; times are relative to the present placement's.

    ``prediction`` and ``traffic`` come from the present form's trace with arrays moved (a
    retarget); ``timed`` and ``rerun`` from the machine code of the form itself.
    """

    placement: Placement
    prediction: Prediction
    traffic: Ratio
    """Time of the memory accesses over that of the present placement, predicted by a retarget."""
    measured_ms: float | None
    """Measured time of the present placement, where it was given."""
    reasons: tuple[Reason, ...] = ()
    costs: tuple[Cost, ...] = ()
    rewritten: Rewritten | None = None
    verification: Verification | None = None
    hints: tuple[HintFate, ...] = ()
    """What the compiler made of the cache hints of the written form."""
    timed: Timed | None = None
    """Time of the whole form, where it was written and could be timed."""
    beside: Timed | None = None
    """Time of the present form that ``timed`` is compared with. Both were found in the same way:
    from the whole launch or from a few of its blocks."""
    present_ms: float | None = None
    """Predicted milliseconds of the present form as the report shows them, where they differ from
    ``beside``; None where they do not."""
    rerun: Ratio | None = None
    """The form's own time over the present form's, each from its own machine code."""

    def _in_short(self) -> str:
        how = "proven" if self.proven else "not proven"
        return (
            f"{self.placement.in_words}: {self.ratio:.3g} of the present time "
            f"({self.low:.3g}–{self.high:.3g}), {how}"
        )

    @property
    def judged(self) -> Ratio:
        """The ratio that the option is judged by: ``rerun`` where the form was timed from its own
        machine code, else ``traffic``."""
        return self.rerun or self.traffic

    @property
    def ratio(self) -> float:
        """Predicted time over the present placement's predicted time."""
        return self.judged.ratio

    @property
    def low(self) -> float:
        """Lower end of the ratio's 80 % interval."""
        return self.judged.low

    @property
    def high(self) -> float:
        """Upper end of the ratio's 80 % interval."""
        return self.judged.high

    @property
    def predicted_ms(self) -> float | None:
        """Predicted time in milliseconds: the measured time of the present form, where it was
        given, times the ratio; else the form's own predicted time; None where there is neither."""
        if self.measured_ms is not None:
            return self.measured_ms * self.ratio
        if self.timed is None or self.present_ms is None:
            return None if self.timed is None else self.timed.ms
        return self.present_ms * self.ratio

    @property
    def proven(self) -> bool:
        """Whether the written form was run and computes the same bits."""
        return self.verification is not None and self.verification.identical


@dataclass(frozen=True)
class ArrayFacts:
    """How the kernel uses one array at present."""

    array: str
    bytes: int
    service: Service
    share: float
    """Share of all model cycles of the present placement."""
    heaviest_line: int | None
    """Source line of the instruction with the most transactions."""


@dataclass(frozen=True)
class RunFacts:
    """The traced run that the advice rests on."""

    arch: str
    registers: int | None
    occupancy: Occupancy
    warp_instructions: int
    thread_instructions: int
    """Instructions of the whole launch, each counted once per thread that executes it."""
    traced_accesses: int
    """Accesses of warps that were traced."""
    traced_blocks: int
    blocks: int
    """Blocks of the launch."""
    seconds: float
    """Seconds that the run took on the executor."""


@dataclass(frozen=True, eq=False, repr=False)
class Advice(ShownInNotebooks):
    """The answer to one question: where should each array of this kernel live on this machine?"""

    case: Case
    machine: Machine
    run: RunFacts
    arrays: tuple[ArrayFacts, ...]
    present: Option
    options: tuple[Option, ...]
    """Best first; the present placement is not among them."""
    recommended: Option | None
    """The verified option whose gain is as large and as probable as asked for; None: keep the
    present placement."""
    verdict: str
    """The answer in a sentence."""
    why: str
    """In sentences, what limits the present form and how the recommended form changes that; empty
    where neither has a predicted time."""
    placements: int
    """Number of legal placements that were compared."""
    illegal: tuple[Choice, ...]
    patterns: tuple[str, ...]
    """One sentence for each array whose accesses scatter so that another layout or order of threads
    may gain more than any move of the array, and for each line with bank conflicts in the source's
    own shared memory."""
    races: tuple[BenignRace, ...]
    """Arrays that threads race on without harm, and what a separate copy for the threads that read
    them would gain. Such a copy is never part of a recommendation."""
    notes: tuple[str, ...]
    seconds: float
    """Seconds that the advice took."""

    def _in_short(self) -> str:
        return f"{self.case.called} on {self.machine.name}: {self.verdict}"

    def to_dict(self) -> dict[str, Any]:
        """The document that ``placewise advise --json`` prints."""
        return advice_document(self)

    def to_dataframe(self) -> DataFrame:
        """A row for each placement, the best first and the present one last: ``moves``, ``ratio``
        to the present time with ``ratio_low`` and ``ratio_high`` (80 % interval),
        ``probability_faster``, ``predicted_ms``, ``proven``."""
        rows = [
            {
                "moves": option.placement.describe(self.present.placement) or "(present)",
                "ratio": option.ratio,
                "ratio_low": option.low,
                "ratio_high": option.high,
                "probability_faster": option.judged.faster,
                "predicted_ms": option.predicted_ms,
                "proven": option.proven,
            }
            for option in (*self.options, self.present)
        ]
        return dataframe(rows)
