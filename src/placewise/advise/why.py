"""Why a placement gains or loses: one sentence per moved array, from its counters."""

from __future__ import annotations

from placewise.advise.advice import ArrayFacts, Cost, Reason
from placewise.choose import Candidate
from placewise.memory import Profile
from placewise.memory.counters import ArrayCounters, Counters
from placewise.model import Prediction


def reasons(
    candidate: Counters, present: Counters, predicted: Prediction, now: Prediction
) -> tuple[Reason, ...]:
    """One reason per array that ``candidate`` moves, the largest change in cycles first."""
    found = []
    for array, source, target in candidate.placement.moved(present.placement):
        before, after = present.array(array), candidate.array(array)
        cost_before, cost_after = array_cycles(now, array), array_cycles(predicted, array)
        path = (
            f"path {after.path}"
            if after.path == before.path
            else f"path {before.path} → {after.path}"
        )
        text = (
            f"{serving(before)} → {serving(after)}; "
            f"{count(cost_before)} → {count(cost_after)} cycles ({path})"
        )
        found.append((abs(cost_after - cost_before), Reason(array, source, target, text)))
    return tuple(reason for _, reason in sorted(found, key=lambda pair: -pair[0]))


def array_facts(profile: Profile, now: Candidate) -> tuple[ArrayFacts, ...]:
    """What every array asks for at present and who serves it, the most expensive first."""
    total = sum(part.cycles for part in now.prediction.parts)
    facts = []
    for counted in now.counters.arrays:
        nearest = profile.machine.levels(counted.space)[0]
        lines = profile.lines(counted.array, nearest)
        facts.append(
            ArrayFacts(
                array=counted.array,
                space=counted.space,
                bytes=profile.array(counted.array).bytes,
                requests=counted.requests,
                lanes_per_request=counted.lanes_per_request,
                transactions_per_request=counted.transactions_per_request,
                served=served(counted),
                share=array_cycles(now.prediction, counted.array) / total if total else 0.0,
                heaviest_line=lines[0].site.source_line if lines else None,
                heaviest_transactions_per_request=lines[0].transactions_per_request
                if lines
                else None,
            )
        )
    return tuple(sorted(facts, key=lambda f: -f.share))


def served(counters: ArrayCounters) -> tuple[tuple[str, float], ...]:
    """Which memory serves which share of an array's transactions, nearest first."""
    total = sum(level.transactions for level in counters.levels)
    return tuple((level.memory, level.transactions / total) for level in counters.levels if total)


def costs(candidate: Counters, present: Counters) -> tuple[Cost, ...]:
    """What filling, staging and copying back cost for every moved array that has such a cost."""
    found = []
    for array, _, _ in candidate.placement.moved(present.placement):
        counters = candidate.array(array)
        if counters.copy_bytes:
            seconds = counters.copy_seconds
            us = None if seconds is None else seconds * 1e6
            time = "" if us is None else f", about {us:.3g} µs"
            text = (
                f"{array}: the host fills {size(counters.copy_bytes)} of constant memory once{time}"
            )
            found.append(Cost(array, text, counters.copy_bytes, us, 0))
        if counters.staging_bytes:
            text = (
                f"{array}: every block stages its tile, {size(counters.staging_bytes)} over the "
                f"launch (included in the prediction)"
            )
            found.append(Cost(array, text, 0, 0.0, int(counters.staging_bytes)))
    return tuple(found)


def array_cycles(prediction: Prediction, array: str) -> float:
    """Model cycles of one array over all paths, staging included."""
    return sum(t.cycles for part in prediction.parts for t in part.terms if t.array == array)


def serving(counters: ArrayCounters) -> str:
    """Requests, transactions per request, and which memory serves which share of them."""
    parts = served(counters)
    if not parts:
        return f"{counters.space}: not accessed"
    shares = in_shares(parts)
    per_request = f"{counters.transactions_per_request:.3g} transactions/request"
    return f"{counters.space}: {count(counters.requests)} requests, {per_request}, from {shares}"


def in_shares(parts: tuple[tuple[str, float], ...]) -> str:
    """Shares in percent, those below half a percent left out."""
    return ", ".join(f"{memory} {share:.0%}" for memory, share in parts if share >= 0.005)


def count(value: float) -> str:
    """A large count with three digits and a suffix."""
    for suffix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {suffix}"
    return f"{value:.3g}"


def size(value: float) -> str:
    """Bytes with a binary prefix."""
    for suffix, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= scale:
            return f"{value / scale:.3g} {suffix}"
    return f"{value:.0f} B"
