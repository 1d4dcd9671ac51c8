"""Notes of advice on cache hints: whether the compiler kept them, and what their times rest on."""

from __future__ import annotations

from collections.abc import Sequence

from placewise.advisor.advice import Option
from placewise.advisor.prepare import Prepared
from placewise.kernel.binary.surviving_hints import Fate, HintFate, hint_fates
from placewise.kernel.kernel import Kernel
from placewise.machine import Machine
from placewise.space import Placement

BASIS = (
    "cache hints are simulated as NVIDIA's documents describe them; how strictly hardware follows "
    "them is not published. On an H200 few helped: of 272 moves of one array to a hint 13 gained "
    "3 % or more, none over 6 %"
)
"""What times of forms with hints rest on; the figures are those of
``benchmarks/results/gpu/moves-H200.json``."""


def fates_of(kernel: Kernel, placement: Placement, prepared: Prepared) -> tuple[HintFate, ...]:
    """What became of the cache hints of a form; nothing where the placement gives none."""
    moved = placement.moved(prepared.legality.present)
    hinted = any(prepared.machine.space(space).hint is not None for _, _, space in moved)
    return hint_fates(kernel) if hinted else ()


def hint_notes(options: Sequence[Option], present: Option, machine: Machine) -> tuple[str, ...]:
    """Notes that name, for each form, the hints that did not survive compilation, and that say what
    the times of forms with hints rest on."""
    notes = []
    for option in options:
        lost = lost_hints(option.hints)
        if lost:
            notes.append(f"{option.placement.describe(present.placement)}: the compiler {lost}")
    timed = any(o.timed is not None and _has_hints(o, present, machine) for o in options)
    return (*notes, BASIS) if timed else tuple(notes)


def caution(option: Option, present: Option, machine: Machine) -> str:
    """What a verdict for a form with cache hints adds; nothing for other forms."""
    if not _has_hints(option, present, machine):
        return ""
    return " Few cache hints gained anything on the GPU that was measured: measure it on yours."


def _has_hints(option: Option, present: Option, machine: Machine) -> bool:
    """Whether the option moves an array to a cache hint."""
    moved = option.placement.moved(present.placement)
    return any(machine.space(space).is_cache_hint for _, _, space in moved)


def lost_hints(fates: Sequence[HintFate]) -> str | None:
    """The hints that the compiler changed or dropped, in words; None where all survived."""
    lost = [f.text for f in fates if f.fate is not Fate.SURVIVED]
    if not lost:
        return None
    return f"did not keep {len(lost)} of {len(fates)} cache hints: {'; '.join(lost)}"


def fate_words(fates: Sequence[HintFate]) -> str:
    """What became of a kernel's hints, in one sentence."""
    lost = lost_hints(fates)
    if lost:
        return f"the compiler {lost}"
    lines = ", ".join(dict.fromkeys(str(f.line) for f in fates if f.line))
    where = f" (line {lines})" if lines else ""
    return f"all cache hints survived in the machine code{where}"
