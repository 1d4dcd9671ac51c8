"""Where should each array of a program live in each of its kernels? ``placewise advise`` of a file
with several launches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from placewise.advisor.advice import Advice, Verification
from placewise.advisor.advise import FINALISTS, advise
from placewise.advisor.explain.gain import gain_in_words
from placewise.advisor.finalists import DEMAND, UNCHANGED, Demand
from placewise.advisor.programs.chain import Step, run_chain
from placewise.advisor.programs.joint_search import (
    AdvisedStep,
    Combination,
    combinations_of,
    wanted,
)
from placewise.advisor.programs.program_advice import ProgramAdvice
from placewise.advisor.programs.written_program import WrittenProgram, prove, write_program
from placewise.errors import PlacewiseError, UnsupportedError
from placewise.executor import DEFAULT_LIMIT
from placewise.kernel.cases.case import Language
from placewise.kernel.programs.program_file import ProgramLike, load_program
from placewise.machine import Machine, MachineLike, load_machine
from placewise.progress import Progress, silent

TRIED = 4
"""Most combinations that are written and run, one after another, until one is proven."""


def advise_program(
    program: ProgramLike,
    machine: MachineLike,
    *,
    finalists: int = FINALISTS,
    demand: Demand = DEMAND,
    nvrtc: str | None = None,
    instruction_limit: int = DEFAULT_LIMIT,
    workers: int = 1,
    progress: Progress = silent,
) -> ProgramAdvice:
    """Advise where the arrays of ``program`` should live in each of its kernels on ``machine``.

    Each launch is advised on alone, with the inputs that the launches before it leave. Then one
    form is chosen for each kernel, so that the whole program, copies between launches included, is
    predicted to be fastest. The chosen forms are written into one source and run in sequence, and
    all that they write is compared bit for bit. ``workers`` forked processes try the forms of a
    kernel at the same time.

    Raises UnsupportedError where the source is not CUDA C++ or the machine's times are not
    predicted, and CaseError, CompileError, MachineError or ExecutionError for bad input.
    """
    start = time.perf_counter()
    program, machine = load_program(program), load_machine(machine)
    if program.launches[0].case.language is not Language.CUDA:
        raise UnsupportedError(
            "only programs of kernels in CUDA C++ can be advised on", where=program.filename
        )
    steps = run_chain(program, machine, nvrtc, instruction_limit, progress)
    ask = partial(
        advise, finalists=finalists, demand=demand, undo=False, members=False, nvrtc=nvrtc,
        instruction_limit=instruction_limit, workers=workers,
    )  # fmt: skip
    advised = [_advised(step, machine, ask, progress) for step in steps]
    progress("searching placements of all kernels together", 0, 0)
    found = combinations_of(advised, program.rounds, machine)
    best, written, proof, notes = _first_proven(
        wanted(found, demand, machine), steps, program.rounds, machine, instruction_limit, progress
    )
    return ProgramAdvice(
        program=program,
        machine=machine,
        launches=tuple(advised),
        combinations=tuple(found),
        recommended=best,
        written=written,
        verification=proof,
        verdict=_verdict(best, found, demand, proof),
        notes=(*_notes(advised, program.rounds), *notes, *_carve_outs(written)),
        seconds=time.perf_counter() - start,
    )


def _advised(
    step: Step, machine: Machine, ask: Callable[..., Advice], progress: Progress
) -> AdvisedStep:
    """Advice on one launch alone; ``ask`` is :func:`advise` with the options that all launches
    share. Raises UnsupportedError where the kernel has no predicted time."""

    def tell(what: str, done: int, total: int) -> None:
        progress(f"launch {step.title}: {what}", done, total)

    advice = ask(step.case, machine, progress=tell)
    timed = advice.present.timed
    if timed is None or timed.ms is None:
        why = "no forms are timed (finalists is 0)" if timed is None else timed.why_not
        raise UnsupportedError(
            f"kernels are weighed by their predicted times: {why}",
            where=f"launch {step.title} on {machine.name}",
            hint="advise on each kernel's own case",
        )
    return AdvisedStep(step, advice)


def _first_proven(
    good: Sequence[Combination], steps: Sequence[Step], rounds: int, machine: Machine,
    instruction_limit: int, progress: Progress,
) -> tuple[Combination | None, WrittenProgram | None, Verification | None, list[str]]:  # fmt: skip
    """The first combination whose launches, run in sequence, compute the same bits, with its source
    and proof; and notes on the combinations before it, which failed."""
    notes: list[str] = []
    proof: Verification | None = None
    for done, one in enumerate(good[:TRIED]):
        progress("writing the program and running it", done, min(TRIED, len(good)))
        try:
            written = write_program(steps, one, rounds, machine)
        except PlacewiseError as error:
            proof = Verification(False, f"cannot be written: {error.message}", ())
        else:
            proof = prove(steps, written, rounds, instruction_limit)
            if proof.identical:
                return one, written, proof, notes
        notes.append(f"not proven: {one.moves} ({proof.detail})")
    return None, None, proof, notes


def _carve_outs(written: WrittenProgram | None) -> Iterator[str]:
    """Which kernels' host code asks for a carve-out of shared memory, and why."""
    forms = {} if written is None else written.rewritten
    texts = {form.case.kernel: form.carve_out for form in forms.values() if form.carve_out}
    for kernel, text in texts.items():
        yield f"{kernel}: {text}"


def _verdict(
    best: Combination | None,
    found: Sequence[Combination],
    demand: Demand,
    proof: Verification | None,
) -> str:
    if best is not None:
        return (
            f"Move {best.moves}: predicted {gain_in_words(best.ratio)}, copies between launches "
            "counted. The kernels were written into one source, compiled and run one after another "
            "on these inputs; all outputs are bit-identical."
        )
    moved = [c for c in found if c.moves]
    if not moved or moved[0].ratio.ratio >= UNCHANGED:
        return "Keep it as it is: no other placement is predicted to gain anything."
    first = moved[0]
    if proof is not None:
        return (
            "Keep it as it is: the best-ranked placements could not be proven to compute the same "
            f"({proof.detail})."
        )
    return (
        f"Keep it as it is: the best alternative, {first.moves}, is predicted "
        f"{gain_in_words(first.ratio)}; a recommendation asks for a probability of "
        f"{demand.probability:.0%} and a gain of {demand.gain:.0%}."
    )


def _notes(advised: Sequence[AdvisedStep], rounds: int) -> list[str]:
    """What the times of a program rest on, and the notes of its launches."""
    notes = ["each launch is timed on the data that earlier launches leave in the first round"]
    if rounds > 1:
        notes.append(f"all {rounds} rounds are assumed to take as long as the first one")
    for one in advised:
        notes += [n for n in one.advice.notes if n not in notes]
    return notes
