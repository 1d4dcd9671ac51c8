"""Advice and time predictions as JSON-able data."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from placewise.model import Prediction
from placewise.space import Placement

if TYPE_CHECKING:
    from placewise.advisor.advice import Advice, Option

SCHEMA_VERSION = 1


def advice_document(advice: Advice) -> dict[str, Any]:
    """The document that ``placewise advise --json`` prints; only JSON types."""
    case, run = advice.case, advice.run
    return {
        "schema": "placewise-advice",
        "schema_version": SCHEMA_VERSION,
        "case": {
            "name": case.name,
            "source": case.filename,
            "kernel": case.kernel,
            "grid": list(case.launch.grid),
            "block": list(case.launch.block),
            "shared_bytes": case.launch.shared_bytes,
        },
        "machine": {"name": advice.machine.name, "title": advice.machine.title},
        "run": {
            "arch": run.arch,
            "registers": run.registers,
            "occupancy": {
                "blocks_per_sm": run.occupancy.blocks,
                "warps_per_sm": run.occupancy.warps,
                "max_warps_per_sm": run.occupancy.max_warps,
                "bound_by": list(run.occupancy.binding),
            },
            "warp_instructions": run.warp_instructions,
            "thread_instructions": run.thread_instructions,
            "traced_accesses": run.traced_accesses,
            "traced_blocks": run.traced_blocks,
            "blocks": run.blocks,
            "seconds": run.seconds,
        },
        "arrays": [asdict(facts) for facts in advice.arrays],
        "present": _option(advice.present, advice.present.placement),
        "options": [_option(o, advice.present.placement) for o in advice.options],
        "recommended": None
        if advice.recommended is None
        else dict(advice.recommended.placement.spaces),
        "verdict": advice.verdict,
        "why": advice.why,
        "placements_compared": advice.placements,
        "illegal": [
            {"array": i.array, "space": i.space, "reason": i.reason} for i in advice.illegal
        ],
        "patterns": list(advice.patterns),
        "benign_races": [race.to_dict() for race in advice.races],
        "notes": list(advice.notes),
        "seconds": advice.seconds,
    }


def _option(option: Option, present: Placement) -> dict[str, Any]:
    verification = option.verification
    return {
        "placement": dict(option.placement.spaces),
        "moves": [
            {"array": array, "from": source, "to": target}
            for array, source, target in option.placement.moved(present)
        ],
        "chunk_iterations": option.placement.chunk,
        "chunk_buffers": option.placement.buffers,
        "padded": list(option.placement.padded),
        "ratio": option.ratio,
        "ratio_low": option.low,
        "ratio_high": option.high,
        "probability_faster": option.judged.faster,
        "predicted_ms": option.predicted_ms,
        "memory_ratio": option.traffic.ratio,
        "timed": _timed(option),
        "prediction": prediction_document(option.prediction),
        "reasons": [{"text": r.text, **asdict(r)} for r in option.reasons],
        "costs": [asdict(c) for c in option.costs],
        "hints": [{"text": h.text, **asdict(h)} for h in option.hints],
        "verification": None if verification is None else verification.to_dict(),
        "source": None if option.rewritten is None else option.rewritten.case.source,
        "host": None if option.rewritten is None else option.rewritten.host,
    }


def _timed(option: Option) -> dict[str, Any] | None:
    """Time of the form from its own machine code as JSON types; None where it was not timed."""
    if option.timed is None:
        return None
    found = option.timed.prediction
    return {
        "ms": option.timed.ms,
        "range_ms": option.timed.range_ms,
        "why_not": option.timed.why_not or None,
        "prediction": None if found is None else prediction_document(found),
    }


def prediction_document(prediction: Prediction) -> dict[str, Any]:
    """A model's prediction with all its parts as JSON types."""
    return {
        "model": prediction.model,
        "cycles": prediction.total,
        "absolute": prediction.absolute,
        "clock_mhz": prediction.clock_mhz,
        "binding": prediction.binding,
        "parts": [
            {
                "path": part.path,
                "cycles": part.cycles,
                "lines": [{"line": line, "cycles": cycles} for line, cycles in part.lines],
                "terms": [
                    {
                        "array": term.array,
                        "memory": term.memory,
                        "staging": term.staging,
                        "transactions": term.transactions,
                        "cycles": term.cycles,
                    }
                    for term in part.terms
                ],
            }
            for part in prediction.parts
        ],
    }
