"""An option's form: the kernel written with that placement, as CUDA C++ or as PTX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from placewise.advisor.advice import Option
from placewise.advisor.forms.at_once import tried
from placewise.advisor.forms.carve_out import with_carve_out
from placewise.advisor.forms.timing import Timed
from placewise.advisor.prepare import Prepared
from placewise.errors import CompileError, PlacewiseError, UnsupportedError
from placewise.kernel.binary.disassemble_ahead import disassemble_ahead
from placewise.kernel.cases.case import Language
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.kernel import Kernel
from placewise.progress import Progress
from placewise.rewriter import Rewritten, rewrite
from placewise.rewriter.ptx_loads import is_written_in_ptx, rewrite_loads
from placewise.space import Placement

_LOADED_FROM = ("global", "generic")


@dataclass(frozen=True)
class Form:
    """A placement written out."""

    rewritten: Rewritten
    kernel: Kernel | None
    """None where it does not compile."""
    why: str = ""
    """What the compiler said."""


def writable(options: list[Option], prepared: Prepared) -> list[int]:
    """Positions of the options that can be written out in the kernel's language."""
    if prepared.case.language is Language.CUDA:
        return list(range(len(options)))
    known = {s.name for s in prepared.machine.spaces if is_written_in_ptx(s)}
    present = prepared.legality.present
    able = [
        n
        for n, option in enumerate(options)
        if all(to in known for _, _, to in option.placement.moved(present))
    ]
    return able or list(range(len(options)))


def write_forms(
    prepared: Prepared,
    placements: Sequence[Placement],
    present: Timed | None,
    progress: Progress,
) -> dict[Placement, Form | UnsupportedError]:
    """The kernel written with each of ``placements``, or why it cannot be, by as many processes as
    ``prepared`` says. The machine code of all is disassembled together."""

    def one(placement: Placement) -> Form | UnsupportedError:
        try:
            return write_form(prepared, placement.moved_part(prepared.legality.present))
        except UnsupportedError as error:
            return error

    step = "rewriting and compiling"
    progress(step, 0, len(placements))
    found: dict[Placement, Form | UnsupportedError] = {}
    for done, (placement, form) in enumerate(tried(placements, one, prepared, present), start=1):
        progress(step, done, len(placements))
        found[placement] = form
    kernels = (form.kernel for form in found.values() if isinstance(form, Form))
    disassemble_ahead(kernel for kernel in kernels if kernel is not None)
    return found


def write_form(prepared: Prepared, placement: Placement) -> Form:
    """The kernel written with ``placement``. Raises UnsupportedError where it cannot be written
    so."""
    if prepared.case.language is not Language.CUDA:
        return _in_ptx(prepared, placement)
    rewritten = rewrite(prepared.case, placement, prepared.machine, prepared.view)
    try:
        kernel = compile_case(rewritten.case)
    except PlacewiseError as error:
        return Form(rewritten, None, f"failed: {error.message}")
    return Form(with_carve_out(rewritten, kernel, prepared.machine), kernel)


def _in_ptx(prepared: Prepared, placement: Placement) -> Form:
    """The form as PTX whose loads are those of the new spaces. Raises UnsupportedError."""
    machine = prepared.machine
    moves = {array: machine.space(space) for array, space in placement}
    all_traced = prepared.traced_blocks == prepared.case.launch.blocks
    if not all_traced and any(
        s.way.facts.by_load_function and not s.is_cache_hint for s in moves.values()
    ):
        raise UnsupportedError(
            "not all blocks were traced, so a load that is made read-only may have another array"
        )
    seen: dict[int, set[str]] = {}
    for array in prepared.profile.arrays:
        for line in prepared.profile.lines(array.name, machine.memories[0]):
            if line.site.kind == "load" and line.site.space in _LOADED_FROM:
                seen.setdefault(line.site.ptx_line, set()).add(array.name)
    loads = {number: frozenset(arrays) for number, arrays in seen.items()}
    try:
        return Form(*rewrite_loads(prepared.case, prepared.kernel, moves, loads))
    except CompileError as error:
        # One cause is a hint that the PTX text's .target does not know.
        raise UnsupportedError(error.message, where=error.where) from error
