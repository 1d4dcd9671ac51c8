"""All remarks on a launch, with what mending each would save."""

from __future__ import annotations

from dataclasses import replace

from placewise.advisor.layouts.layout_remarks import lint_with_layouts
from placewise.advisor.lint import Remark, Rule
from placewise.advisor.lint_rules.block_size import block_size
from placewise.advisor.lint_rules.hints import dropped_hints
from placewise.advisor.lint_rules.partly_used import partly_used
from placewise.advisor.lint_rules.redundant import redundant_loads
from placewise.advisor.lint_rules.registers import occupancy_lost
from placewise.advisor.lint_rules.savings import with_savings
from placewise.advisor.predictions.predicted_counters import CounterReport
from placewise.model.base import Evidence

_WORTH_NAMING = 0.01
"""Redundant loads and lost occupancy are named only where mending them saves at least this share of
the time, since caches and other warps may hide both."""
_WORTH_A_WARNING = 0.05
_BY_SAVING = (Rule.redundant, Rule.registers)


def lint_launch(report: CounterReport, evidence: Evidence | None = None) -> tuple[Remark, ...]:
    """Remarks on the launch of ``report``, the one whose mending saves most of the predicted time
    first.

    Those of :func:`~placewise.advisor.layouts.layout_remarks.lint_with_layouts`, partly used
    sectors, redundant loads, cache hints that the compiler dropped, occupancy lost by a few
    registers, and lanes and warps that small blocks leave empty. ``evidence`` is what the launch's
    time rests on, where that is known already.
    """
    remarks = lint_with_layouts(report)
    scattered = {(r.line, r.array) for r in remarks if r.rule is Rule.uncoalesced}
    found = [
        *remarks,
        *(r for r in partly_used(report.run) if (r.line, r.array) not in scattered),
        *redundant_loads(report),
        *occupancy_lost(report.run),
        *block_size(report.run),
        *dropped_hints(report.run.kernel),
    ]
    judged = [_judged(r) for r in with_savings(report, found, evidence)]
    kept = [r for r in judged if r is not None]
    return tuple(sorted(kept, key=lambda r: (-(r.saving or 0.0), -r.share * (1.0 - 1.0 / r.times))))


def _judged(remark: Remark) -> Remark | None:
    """The remark. Redundant loads and lost occupancy get their level from their saving; None where
    that is below 1 %."""
    if remark.rule not in _BY_SAVING or remark.saving is None:
        return remark
    if remark.saving < _WORTH_NAMING:
        return None
    return replace(remark, warning=remark.saving >= _WORTH_A_WARNING)
