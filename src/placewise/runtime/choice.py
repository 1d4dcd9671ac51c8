"""Chooses the version of a kernel that is launched for one class of launches, and its predicted
gain."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placewise.advisor import advise
from placewise.advisor.advice import Advice, Option
from placewise.advisor.finalists import Demand, recommended
from placewise.advisor.layouts.advise_layout import advise_layout
from placewise.advisor.layouts.layout_advice import LayoutAdvice, StructAdvice
from placewise.disk_cache import DiskCache
from placewise.errors import UnsupportedError
from placewise.executor.compare import compare
from placewise.kernel.cases.case import Case
from placewise.machine import Machine
from placewise.runtime.devices.place import Snapshot
from placewise.runtime.form import (
    Form,
    form_document,
    form_from_document,
    form_of,
    form_of_layout,
)
from placewise.runtime.stopwatch import Stopwatch

SCHEMA = 3
"""Version of the format of entries on disk."""
COPY_LATENCY_US = 3.0
"""Microseconds that a copy into constant memory takes in a stream, in addition to its bytes over
the bandwidth. A cautious assumption, not measured: about the cost of one short kernel in a stream
(A. Gray, "Getting Started with CUDA Graphs", NVIDIA, 2019: 2.9 µs of 3.8 µs per kernel run)."""
SECTOR_BYTES = 32
"""Least bytes that an access moves (CUDA C++ Programming Guide, "Device Memory Accesses")."""


@dataclass(frozen=True)
class Choice:
    """A version to launch, or the original kernel and why."""

    form: Form | None
    """None: the original."""
    why: str
    moves: str = ""
    """The moves of the form, in words."""
    present_ms: float | None = None
    """Predicted time of the original on the machine."""
    chosen_ms: float | None = None
    """Predicted time of the form, including copies into constant memory."""
    faster: float | None = None
    """Probability that the form is faster."""

    @property
    def saved_ms(self) -> float:
        """Predicted gain of one launch; 0 for the original, and where no time is predicted."""
        if self.form is None or self.present_ms is None or self.chosen_ms is None:
            return 0.0
        return max(0.0, self.present_ms - self.chosen_ms)


def keep_original(why: str) -> Choice:
    """The choice of the original kernel, with the reason."""
    return Choice(None, why)


def choose(case: Case, machine: Machine, demand: Demand, layouts: bool, watch: Stopwatch) -> Choice:
    """The best placement for the launch ``case``. With ``layouts`` it may be another layout of its
    arrays of structs instead, if that is predicted to be faster including the conversions at each
    launch.

    Raises PlacewiseErrors for kernels that cannot be advised on, and DoubtError where the original
    must run.
    """
    placed = _placed(case, machine, demand, watch)
    if not layouts:
        return placed
    try:
        with watch.advising():
            advice = advise_layout(case, machine, demand=demand, progress=watch)
    except UnsupportedError:
        return placed
    best = [
        made
        for one in advice.structs
        if (made := _laid_out(one, advice, demand)) is not None
        and (placed.form is None or (placed.chosen_ms or 0.0) > (made.chosen_ms or 0.0))
    ]
    return min(best, key=lambda c: c.chosen_ms or 0.0, default=placed)


def _laid_out(advice: StructAdvice, whole: LayoutAdvice, demand: Demand) -> Choice | None:
    """The recommended layout of one struct type, if its conversions leave enough of the gain."""
    best, found = advice.best, advice.conversion
    present = None if advice.present is None else advice.present.ms
    if best is None or best.relaid is None or best.ratio is None or not present or found is None:
        return None
    if found.milliseconds is None or not found.bytes:
        return None
    form = form_of_layout(best.relaid, whole.case)
    # Each stripe (field) is copied by itself, so an array's sectors are moved several times.
    stripes = [(p.elements, s) for p in form.pieces for s in p.stripes]
    moved = sum(n * (min(s.step, s.width + SECTOR_BYTES) + s.width) for n, s in stripes)
    arrays = len({p.argument for p in form.pieces})
    bandwidth = found.bytes / found.milliseconds
    copies = 2 * (moved / bandwidth + arrays * COPY_LATENCY_US * 1e-3)
    chosen = present * best.ratio.ratio + copies
    if not demand.is_met(chosen / present, best.ratio.faster):
        return None
    moves = f"{best.arrays.type_name} → {best.text}, converted at each launch"
    return Choice(form, "recommended and proven", moves, present, chosen, best.ratio.faster)


def _placed(case: Case, machine: Machine, demand: Demand, watch: Stopwatch) -> Choice:
    """Advise on the launch ``case`` and take the form that is recommended.

    Arrays may change between launches, so a form in constant memory needs copies at each launch.
    Where these use up the gain, or their cost is not known, the best form without copies is taken.
    Forms with access policy windows of L2 are not taken.
    """
    with watch.advising():
        advice = advise(case, machine, demand=demand, undo=False, members=False, progress=watch)
    option = _worthwhile(advice, demand)
    present = advice.present.predicted_ms
    if option is None or option.rewritten is None:
        return replace(keep_original(advice.verdict), present_ms=present)
    ways = {machine.space(s).way for _, _, s in option.placement.moved(advice.present.placement)}
    tiled = option.placement.chunk is not None or any(w.facts.per_block for w in ways)
    form = form_of(option.rewritten, advice.case, bind_numbers=tiled)
    copies = _copies_ms(option)
    assert copies is not None, "options whose copies cost an unknown time are not taken"
    chosen = option.predicted_ms
    return Choice(
        form=form,
        why="recommended and proven",
        moves=option.placement.describe(advice.present.placement),
        present_ms=present,
        chosen_ms=None if chosen is None else chosen + copies,
        faster=option.judged.faster,
    )


def _worthwhile(advice: Advice, demand: Demand) -> Option | None:
    """The recommended option, if the runtime can launch it and its gain is large enough after the
    copies; else the one to recommend among options without copies."""
    best = advice.recommended
    if best is None:
        return None
    copies, present, chosen = _copies_ms(best), advice.present.predicted_ms, best.predicted_ms
    if copies == 0.0 and not _has_window(best):
        return best
    if copies is not None and present and chosen is not None and not _has_window(best):
        ratio = (chosen + copies) / present
        if demand.is_met(ratio, best.judged.faster):
            return best
    without = [
        o
        for o in advice.options
        if o.verification is not None and _copies_ms(o) == 0.0 and not _has_window(o)
    ]
    return recommended(without, advice.present, advice.machine, demand)


def _has_window(option: Option) -> bool:
    """Whether a form asks for an access policy window of L2, which the runtime does not set."""
    return option.rewritten is not None and option.rewritten.case.launch.window is not None


def _copies_ms(option: Option) -> float | None:
    """Milliseconds that an option's copies into constant memory take per launch; None where the
    machine's file does not say."""
    total = 0.0
    for cost in option.costs:
        if cost.host_bytes:
            if cost.host_us is None:
                return None
            total += cost.host_us + COPY_LATENCY_US
    return total * 1e-3


def unlike(expected: Snapshot, found: tuple[tuple[int, Any], ...]) -> str | None:
    """In words, the first array (by argument) that differs in any bit; None where none does."""
    for number, content in found:
        before = np.asarray(expected[number])
        check = compare(f"argument {number + 1}", before, content)
        if not check.identical:
            return (
                f"the chosen version's {check.array} differs from the original's in "
                f"{check.different} of {check.elements} elements"
            )
    return None


@dataclass(frozen=True)
class Kept:
    """Choices on disk, under a hash of everything that they depend on."""

    cache: DiskCache

    def read(self, key: str) -> Choice | None:
        """The choice under ``key``; None where there is none, or the entry is damaged or of another
        schema."""
        stored = self.cache.read(key)
        if stored is None:
            return None
        try:
            return choice_from_document(json.loads(stored))
        except (KeyError, TypeError, ValueError):
            return None

    def write(self, key: str, choice: Choice) -> None:
        """Store ``choice`` under ``key``. Does nothing where the folder cannot be written."""
        self.cache.write(key, json.dumps(choice_document(choice)).encode())


def choice_document(choice: Choice) -> dict[str, Any]:
    """A choice as JSON types."""
    return {
        "schema": SCHEMA,
        "form": None if choice.form is None else form_document(choice.form),
        "why": choice.why,
        "moves": choice.moves,
        "present_ms": choice.present_ms,
        "chosen_ms": choice.chosen_ms,
        "faster": choice.faster,
    }


def choice_from_document(document: Mapping[str, Any]) -> Choice:
    """The choice in a document of :func:`choice_document`; raises KeyError, TypeError or ValueError
    for any other document."""
    if document["schema"] != SCHEMA:
        raise ValueError("another schema")
    form = document["form"]
    return Choice(
        form=None if form is None else form_from_document(form),
        why=document["why"],
        moves=document["moves"],
        present_ms=document["present_ms"],
        chosen_ms=document["chosen_ms"],
        faster=document["faster"],
    )
