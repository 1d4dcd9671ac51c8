"""Every legal placement of every bundled case: written, compiled, run and checked.

The work is bounded. Forms that move one array are compiled for seven architectures; the others,
whose text is that of several such moves, for one. A form runs on a sample of its blocks (the first,
the last, some between) of at most :data:`INSTRUCTIONS` thread instructions, once for each PTX that
differs by more than its target; kernels whose blocks wait for each other run whole. What is done is
kept in a file, a line for each form, so that a run that ends early goes on where it stopped. Forms
that move one array come first, the others in an order drawn from a fixed seed, one case after
another, so that a short run sees all cases.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import Figure
from placewise import load_case
from placewise.advisor import legal_placements, prepare
from placewise.advisor.forms.verify import UNCONTRACTED
from placewise.advisor.prepare import Prepared
from placewise.cases.library import case_names
from placewise.choose.legality import Legality
from placewise.errors import PlacewiseError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.executor.independent_blocks import blocks_run_alone
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.machine import Machine, load_machine
from placewise.rewriter import Rewritten, rewrite
from placewise.space import Placement

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
ARCH = "sm_80"
"""The one that all forms are compiled for."""
MACHINE = "A100"
"""Whose legal placements these are."""
LARGEST = 3000
"""Legal placements of a case that are all written; of kernels with more (16 arrays have millions)
those that move one array."""
INSTRUCTIONS = 2_000_000
SEED = 1
RACY = frozenset({"bfs"})
"""Cases that race by design: threads that reach the same node write the same level."""


@dataclass(frozen=True)
class Outcome:
    """What came of one form."""

    case: str
    placement: str
    key: str
    """Hash of the case's name, of its source as it is and of the placement."""
    wrong: str
    """What is wrong; empty where nothing is."""
    runs: int
    """Different PTX that were run."""
    bits: str = ""
    """Option of the compiler under which the bits are the same, where they are so only then."""


def judge_legal(kept: Path, seconds: float) -> list[Figure]:
    """Work for ``seconds`` at most, add what is done to the file ``kept``, and give the figures of
    all that is there."""
    start = time.monotonic()
    machine = load_machine(MACHINE)
    done = {o.key: o for o in _read(kept)}
    forms: dict[str, list[tuple[Placement, str]]] = {}
    prepared: dict[str, Prepared] = {}
    truths: dict[str, dict[str, dict[str, bytes]]] = {name: {} for name in case_names()}
    for name in case_names():
        one = prepare(load_case(name), machine)
        prepared[name] = one
        forms[name] = [(p, _key(name, one.case, p)) for p in placements_of(one.legality)]
    total = sum(map(len, forms.values()))
    waiting = list(_in_turn({n: [f for f in fs if f[1] not in done] for n, fs in forms.items()}))
    print(f"{total} forms of {len(forms)} cases, {total - len(waiting)} done before")
    for count, (name, placement, key) in enumerate(waiting):
        if time.monotonic() - start > seconds:
            print(f"stopped after {seconds:.0f} s: {len(waiting) - count} forms are left")
            break
        outcome = _judge(name, prepared[name], placement, key, machine, truths[name])
        done[key] = outcome
        with kept.open("a") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")
        if outcome.wrong or count % 20 == 0:
            print(f"{count}/{len(waiting)} {name}: {outcome.placement} {outcome.wrong}", flush=True)
    return list(_figures(forms, done))


def placements_of(legality: Legality) -> list[Placement]:
    """The legal placements but the present one, those that move one array first; of those alone
    where there are more than :data:`LARGEST`."""
    present = legality.present
    alone = [
        Placement(tuple((a, to if a == array else now) for a, now in present))
        for array, now in present
        for to in legality.spaces(array)
        if to != now
    ]
    found = list(islice(legal_placements(legality), LARGEST + 1))
    if len(found) > LARGEST:
        return alone
    known = {*alone, present}
    rest = [p for p in found if p not in known]
    random.Random(SEED).shuffle(rest)
    return [*alone, *rest]


def _in_turn(
    forms: dict[str, list[tuple[Placement, str]]],
) -> Iterator[tuple[str, Placement, str]]:
    """The forms of all cases, one of each case after another."""
    for row in zip_longest(*([(name, *f) for f in fs] for name, fs in forms.items())):
        yield from (form for form in row if form is not None)


def _key(name: str, case: Case, placement: Placement) -> str:
    text = f"{name}\0{case.source}\0{sorted(placement.spaces)}\0{placement.chunk}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _read(kept: Path) -> list[Outcome]:
    if not kept.is_file():
        return []
    return [Outcome(**json.loads(line)) for line in kept.read_text().splitlines()]


# A form is known by all of these.
def _judge(
    name: str, one: Prepared, placement: Placement, key: str, machine: Machine,
    truth: dict[str, dict[str, bytes]],
) -> Outcome:  # fmt: skip
    """What comes of a form; ``truth`` keeps what the case itself computes, by architecture."""
    moves = placement.moved(one.legality.present)
    part = Placement(tuple((a, to) for a, _, to in moves), placement.chunk)
    what = placement.describe(one.legality.present)
    blocks = _sample(one)
    runs, bits = 0, ""
    try:
        written = rewrite(one.case, part, machine, one.view)
        for kernel in _distinct(written.case, ARCHS if len(moves) == 1 else (ARCH,)):
            checker = Checker()
            found = _outputs(kernel, written.case, blocks, checker)
            runs += 1
            if kernel.arch not in truth:
                truth[kernel.arch] = _outputs(_compiled(one.case, kernel.arch), one.case, blocks)
            if not _same(written, found, truth[kernel.arch]):
                # Multiply and add may be contracted otherwise, as advice allows for.
                flags = (*one.case.options.flags, UNCONTRACTED)
                plain, form = (
                    _outputs(_compiled(c, kernel.arch, flags), c, blocks)
                    for c in (one.case, written.case)
                )
                if not _same(written, form, plain):
                    return Outcome(name, what, key, "other bits", runs, bits)
                bits = UNCONTRACTED
            if not checker.clean and name not in RACY:
                return Outcome(name, what, key, checker.findings[0].message, runs, bits)
    except PlacewiseError as error:
        return Outcome(name, what, key, error.message, runs, bits)
    return Outcome(name, what, key, "", runs, bits)


def _same(written: Rewritten, found: dict[str, bytes], wanted: dict[str, bytes]) -> bool:
    """Whether every array that the form still has ends with the same bits."""
    renamed = {new: old for old, new in written.renamed}
    named = {renamed.get(n, n): data for n, data in found.items()}
    return all(named.get(n, data) == data for n, data in wanted.items())


def _sample(one: Prepared) -> NDArray[np.int64] | None:
    """Blocks that are run, as :data:`INSTRUCTIONS` allow; None for all."""
    blocks = one.case.launch.blocks
    each = one.execution.thread_instructions / blocks
    number = max(4, int(INSTRUCTIONS / max(1.0, each)))
    if number >= blocks or not blocks_run_alone(one.kernel):
        return None
    return np.unique(np.linspace(0, blocks - 1, number).astype(np.int64))


def _distinct(case: Case, archs: Sequence[str]) -> list[Kernel]:
    """The kernel compiled for every architecture, one for each PTX that differs by more than its
    target. Raises PlacewiseError where it does not compile for one."""
    kernels: dict[str, Kernel] = {}
    for arch in archs:
        kernel = _compiled(case, arch)
        text = re.sub(r"//.*|^\.(?:version|target).*$", "", kernel.ptx, flags=re.MULTILINE)
        kernels.setdefault(text, kernel)
    return list(kernels.values())


def _compiled(case: Case, arch: str, flags: tuple[str, ...] | None = None) -> Kernel:
    """The case's kernel for an architecture, with other ``flags`` where they are given."""
    flags = case.options.flags if flags is None else flags
    return compile_case(replace(case, options=replace(case.options, arch=arch, flags=flags)))


def _outputs(
    kernel: Kernel, case: Case, blocks: NDArray[np.int64] | None, checker: Checker | None = None
) -> dict[str, bytes]:
    """Bytes of every array behind the run of some blocks."""
    run = execute(kernel, case.launch, case.inputs, run_blocks=blocks, check=checker)
    return {name: data.tobytes() for name, data in run.outputs}


def _figures(
    forms: dict[str, list[tuple[Placement, str]]], done: dict[str, Outcome]
) -> Iterator[Figure]:
    """What has been done of each case, and what is wrong in all."""
    here = [done[key] for fs in forms.values() for _, key in fs if key in done]
    total, wrong = sum(map(len, forms.values())), [o for o in here if o.wrong]
    for o in wrong:
        print(f"{o.case}: {o.placement}: {o.wrong}")
    yield Figure("legal placements of the bundled cases", total, "forms", "", True)
    yield Figure(
        f"… written, compiled ({len(ARCHS)} architectures where one array moves), run, checked",
        len(here), "forms", f"{total}", len(here) == total,
    )  # fmt: skip
    yield Figure("… of them refused, other bits or unclean", len(wrong), "forms", "0", not wrong)
    contracted = sum(bool(o.bits) for o in here)
    yield Figure(
        f"… of them the same bits only under {UNCONTRACTED}", contracted, "forms", "", True
    )
    yield Figure("runs, one for each PTX that differs", sum(o.runs for o in here), "", "", True)
    for name, fs in forms.items():
        count = sum(key in done for _, key in fs)
        bad = sum(bool(done[key].wrong) for _, key in fs if key in done)
        yield Figure(f"{name}: forms done of {len(fs)}", count, "", "", True)
        if bad:
            yield Figure(f"{name}: wrong", bad, "forms", "0", holds=False)
