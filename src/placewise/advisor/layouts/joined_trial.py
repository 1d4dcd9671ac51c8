"""Separate arrays tried as one array of structs. Separate arrays are the layout SoA of that
struct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placewise.advisor.forms.verify import uncontracted
from placewise.advisor.layouts.layout_trial import Trial
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.source import SourceView
from placewise.kernel.struct_uses import StructArrays
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.separate_arrays import joinable, separate_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.rewriter.layouts.join_arrays import JoinedArrays, join_arrays, separated


@dataclass(frozen=True, eq=False)
class JoinedTrial:
    """A case with some arrays joined, and what its layouts are tried with."""

    trial: Trial
    """What layouts of the joined case are tried with. Its present time is that of the case with
    separate arrays."""
    structs: StructArrays
    joined: JoinedArrays


def joined_trial(trial: Trial, arrays: Sequence[str]) -> JoinedTrial:
    """Join ``arrays`` of the trial's case to one array of structs.

    Raises CaseError or UnsupportedError, with the line, where they cannot be joined, and where the
    joined kernel does not compute the same bits.
    """
    joined = join_arrays(trial.case, trial.view, separate_arrays(trial.case, trial.view, arrays))
    read = read_case(joined.case)
    (structs,) = (s for s in find_struct_arrays(read.case) if s.type_name == joined.type_name)
    same = _same_bits(joined, trial.case, read.case)
    if not same and not _same_bits(joined, uncontracted(trial.case), uncontracted(read.case)):
        raise UnsupportedError(
            f"with {', '.join(joined.shown)} in one array of structs the kernel does not compute "
            "the same bits",
            where=trial.case.filename,
        )
    made = replace(trial, case=read.case, kernel=read.kernel, view=read.view)
    return JoinedTrial(made, structs, joined)


def join_remarks(case: Case, view: SourceView) -> tuple[str, ...]:
    """Which separate arrays are looked up by data, several at the same place: they may gain as one
    array of structs."""
    return tuple(
        f"{', '.join(names)} are looked up at places that depend on data: --join "
        f"{','.join(names)} tries them as one array of structs"
        for names in looked_up_together(case, view)
    )


def looked_up_together(case: Case, view: SourceView) -> tuple[tuple[str, ...], ...]:
    """Groups of separate arrays that can be joined, and that the kernel looks up at places that
    depend on data."""
    try:
        groups = joinable(case, view)
        program = static_accesses(case) if groups else None
    except UnsupportedError:
        return ()
    if program is None:
        return ()
    scattered = {access.array for access in program.accesses() if access.index.opaque}
    found = (tuple(name for name in group if name in scattered) for group in groups)
    return tuple(names for names in found if len(names) > 1)


def _same_bits(joined: JoinedArrays, apart: Case, together: Case) -> bool:
    expected, found = (
        dict(execute(compile_case(c), c.launch, c.inputs).outputs) for c in (apart, together)
    )
    back = separated(joined, found)
    return all(back[name].tobytes() == data.tobytes() for name, data in expected.items())
