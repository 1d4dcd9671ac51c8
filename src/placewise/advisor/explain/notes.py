"""Notes of advice: what its figures rest on, and what they leave out."""

from __future__ import annotations

from dataclasses import replace

from placewise.advisor.advice import Option
from placewise.advisor.finalists import frequent_misses
from placewise.advisor.prepare import Prepared
from placewise.choose import Candidate, search
from placewise.kernel.cases.case import Case, Language
from placewise.kernel.kernel import Kernel
from placewise.kernel.toolchain import install_command, nvcc_version
from placewise.machine import Machine
from placewise.model import moved_atomics, path_model

WORTH_MOVING = 0.97
"""A move that only the programmer can write is mentioned if its time is less than this share of the
time of the best placement that Placewise can write. It is the gain of 3 % that a recommendation
asks for."""


def time_notes(present: Option, options: list[Option], machine: Machine) -> tuple[str, ...]:
    """What the times rest on, or why there are none."""
    if present.timed is None:
        return ()
    found = present.timed.prediction
    if found is None:
        return (f"no times, memory traffic only: {present.timed.why_not}",)
    notes = [*found.notes]
    if found.unlike == ():
        notes.append("the launch is like those whose times were measured")
    error = next((o.rerun.error for o in options if o.rerun and o.rerun.error), None)
    if error is not None:
        notes.append(
            "times come from each form's own machine code; intervals of 80 % and probabilities "
            f"rest on measured pairs of forms ({error.fitted_on})"
        )
    for missing in dict.fromkeys(frequent_misses(o, machine) for o in options):
        if missing is not None:
            array, share = missing
            notes.append(
                f"{array} in constant memory: {share:.0%} of its accesses miss the nearest "
                "constant cache; how fast so many are served is not known, so the move is not "
                "recommended"
            )
    whole = [o for o in options if o.beside is not None and o.beside is not present.timed]
    if whole:
        notes.append(
            "timed from a run of the whole launch, not of a few blocks, and compared with the "
            "present form timed in the same way; their ms are the present form's times that ratio: "
            + "; ".join(o.placement.describe(present.placement) for o in whole)
        )
    return tuple(notes)


def compiler_note(case: Case, kernel: Kernel) -> tuple[str, ...]:
    """Whose code was timed, and what to do where the user's compiler is another one. Nothing for
    kernels that NVRTC does not compile.

    A multiply with one matrix in tiles is predicted to be 1.78 times as fast with the code of NVRTC
    13.5. With that of 13.0 an H200 ran it 0.88 times as fast (benchmarks/results/gpu).
    """
    made = kernel.compiler
    if made is None or case.language is not Language.CUDA:
        return ()
    own = nvcc_version()
    if own == made:
        return ()
    version, example = own or "12.9", "" if own else "for example "
    whose = f"nvcc on this machine is {own}" if own else "if you build with another version"
    command = install_command(version)
    first = f", once it is installed ({command})" if command else ""
    return (
        f"times are of code by NVRTC {made}; {whose}, its code may differ, and with it the fastest "
        f'form: {example}--nvrtc {version}, in Python nvrtc="{version}", advises for that '
        f"one{first}",
    )


def loads_alone(language: Language) -> str:
    """What a verdict on a kernel without CUDA C++ source leaves out, as a sentence that follows it;
    empty for CUDA C++."""
    if language is Language.CUDA:
        return ""
    return (
        f" For a kernel in {language} this speaks only of how its arrays are loaded: tiles in "
        "shared memory are written for CUDA C++ source alone, and were not considered."
    )


def range_note(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    """What the intervals of ratios of memory times rest on, where the model's error is known."""
    error = next((c.ratio.error for c in candidates if c.ratio.error is not None), None)
    if error is None:
        return ()
    return (
        "intervals of memory times cover the model's concurrency factors, the block sample, and "
        f"the model's error on measured pairs of forms ({error.fitted_on})",
    )


def atomics_note(candidates: tuple[Candidate, ...], now: Candidate) -> tuple[str, ...]:
    """A note that names arrays that the model of memory traffic cannot judge, since atomics update
    them; empty where there are none."""
    found = [array for c in candidates for array in moved_atomics(c.counters, now.counters)]
    if not found:
        return ()
    return (
        f"memory times leave out what atomic functions cost: no move of "
        f"{', '.join(dict.fromkeys(found))} is recommended by them",
    )


def carve_out_note(best: Option | None) -> tuple[str, ...]:
    """Why the recommended form's host code asks for a carve-out of shared memory, if it does."""
    if best is None or best.rewritten is None or not best.rewritten.carve_out:
        return ()
    return (best.rewritten.carve_out,)


def bound_note(best: Option | None) -> tuple[str, ...]:
    """For which launches alone the recommended form is written, if for some alone."""
    if best is None or best.rewritten is None or not best.rewritten.checks:
        return ()
    checks = dict(best.rewritten.checks)
    block = [str(checks.pop(f"blockDim.{axis}", 1)) for axis in "xyz"]
    values = ", ".join(f"{name} = {value}" for name, value in checks.items())
    launch = f"blocks of {' × '.join(block)} threads{f' and {values}' if values else ''}"
    again = "; a case with other values gives a kernel for these" if values else ""
    return (f"the written kernel is for {launch}: it traps where these differ{again}",)


def by_hand_note(prepared: Prepared, ranked: tuple[Candidate, ...]) -> tuple[str, ...]:
    """What memories would gain that Placewise cannot write code for, so that the programmer has to
    move the arrays: the best placement with such memories, where it is faster than the best of
    ``ranked`` (Chen et al. 2017, section 4: "PORPLE provides recommended placement to the
    programmer")."""
    machine, legality = prepared.machine, prepared.legality
    if not any(s.way.facts.by_hand for s in machine.spaces):
        return ()
    wider = replace(legality, by_hand=True)
    best = search(prepared.profile, wider, machine, path_model(joint=True), limit=1)[0]
    written = min(c.ratio.ratio for c in ranked)
    by_hand = [(array, to) for array, _, to in best.moves if machine.space(to).way.facts.by_hand]
    if not by_hand or best.ratio.ratio >= WORTH_MOVING * written:
        return ()
    to = dict.fromkeys(space for _, space in by_hand)
    declared = [f"{s} ({machine.space(s).declaration})" for s in to if machine.space(s).declaration]
    return (
        f"{best.placement.describe(legality.present)} would take {best.ratio.ratio:.0%} of the "
        f"present memory time, the best placement that Placewise can write {written:.0%}; "
        f"Placewise cannot write code for {', '.join(declared or to)}, so make this move by hand",
    )
