"""Why a placement gains or loses, array by array, from its counters."""

from __future__ import annotations

from placewise.advisor.advice import ArrayFacts, Cost, Reason, Service
from placewise.choose import Candidate, in_words
from placewise.memory import Profile
from placewise.model import Prediction


def reasons(candidate: Candidate, now: Candidate) -> tuple[Reason, ...]:
    """One reason per array that ``candidate`` moves, the largest change in cycles first."""
    found = [
        Reason(array, service(now, array), service(candidate, array))
        for array, _, _ in candidate.moves
    ]
    return tuple(sorted(found, key=lambda r: -abs(r.after.cycles - r.before.cycles)))


def service(candidate: Candidate, array: str) -> Service:
    """What ``array`` asks for under a placement, and which memories serve it."""
    counted = candidate.counters.array(array)
    total = sum(level.transactions for level in counted.levels)
    return Service(
        space=counted.space,
        path=counted.path,
        requests=counted.requests,
        lanes_per_request=counted.lanes_per_request,
        transactions_per_request=counted.transactions_per_request,
        served=tuple((lv.memory, lv.transactions / total) for lv in counted.levels if total),
        cycles=array_cycles(candidate.prediction, array),
    )


def array_facts(profile: Profile, now: Candidate) -> tuple[ArrayFacts, ...]:
    """What every array asks for at present and which memories serve it, the most expensive
    first."""
    total = sum(t.cycles for part in now.prediction.parts for t in part.terms)
    facts = []
    for counted in now.counters.arrays:
        lines = profile.lines(counted.array, profile.machine.levels(counted.space)[0])
        found = service(now, counted.array)
        facts.append(
            ArrayFacts(
                array=counted.array,
                bytes=profile.array(counted.array).bytes,
                service=found,
                share=found.cycles / total if total else 0.0,
                heaviest_line=lines[0].site.source_line if lines else None,
            )
        )
    return tuple(sorted(facts, key=lambda f: -f.share))


def costs(candidate: Candidate) -> tuple[Cost, ...]:
    """What filling, staging and copying back cost for every moved array that has such a cost."""
    found = []
    for array, _, _ in candidate.moves:
        counters = candidate.counters.array(array)
        if counters.copy_bytes:
            seconds = counters.copy_seconds
            us = None if seconds is None else seconds * 1e6
            time = "" if us is None else f", about {us:.3g} µs"
            filled = in_words(counters.copy_bytes)
            text = f"{array}: the host fills {filled} of constant memory once{time}"
            found.append(Cost(array, text, counters.copy_bytes, us, 0))
        if counters.staging_bytes:
            text = (
                f"{array}: every block stages its tile, {in_words(counters.staging_bytes)} over "
                "the launch (included in the prediction)"
            )
            found.append(Cost(array, text, 0, 0.0, int(counters.staging_bytes)))
    return tuple(found)


def array_cycles(prediction: Prediction, array: str) -> float:
    """Cycles of the path model for one array over all data paths, staging included."""
    return sum(t.cycles for part in prediction.parts for t in part.terms if t.array == array)


def in_shares(parts: tuple[tuple[str, float], ...]) -> str:
    """Shares in percent, those below half a percent left out."""
    return ", ".join(f"{memory} {share:.0%}" for memory, share in parts if share >= 0.005)


def count(value: float) -> str:
    """A large count with three digits and a suffix."""
    for suffix, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {suffix}"
    return f"{value:.3g}"
