"""Give an array a copy for its readers: loads read a copy made before the launch, stores go to the
array itself.

A load of ``levels[i]`` becomes ``levels_before[i]``. Chen et al. 2017 (section 5.3) do this for
arrays with benign races, so that the copy may be in memory that kernels cannot write to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from placewise.errors import UnsupportedError
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.launch import ArrayArgument
from placewise.kernel.source import ArrayUse, SourceView
from placewise.rewriter.draft import Draft
from placewise.rewriter.text import with_line_ends_of


@dataclass(frozen=True, eq=False)
class Duplicated:
    """A case in which loads of an array read a copy of it."""

    case: Case
    array: str
    copy: str
    """Name of the copy, which is a new parameter right after the array."""


def duplicate_for_readers(case: Case, view: SourceView, array: str) -> Duplicated:
    """The case in which every load of ``array`` reads a copy, which is a new parameter.

    Raises UnsupportedError where the source uses the array in any way other than loads and stores
    by its name.
    """
    case = bind_names(case, view)
    use = view.array(array)
    obstacle = _obstacle(use, view)
    if obstacle is not None:
        raise UnsupportedError(
            f"array '{array}' cannot have a duplicate: {obstacle}", where=case.filename
        )
    draft = Draft.start(case, view)
    name = draft.unique(f"{array}_before")
    for place in use.accesses:
        if place.kind == "load":
            draft.text.replace(place.pointer_start, place.pointer_end, name)
    parameter = use.parameter
    draft.text.insert(parameter.end, f", const {parameter.element_type} *{name}")
    arguments = []
    for argument in case.inputs.arguments:
        arguments.append(argument)
        if argument.name == array and isinstance(argument, ArrayArgument):
            # The data are copied, since the kernel writes to the array.
            arguments.append(replace(argument, name=name, data=argument.data.copy()))
    return Duplicated(
        replace(
            case,
            source=with_line_ends_of(case.source, draft.text.finish()),
            inputs=replace(case.inputs, arguments=tuple(arguments)),
        ),
        array,
        name,
    )


def _obstacle(use: ArrayUse, view: SourceView) -> str | None:
    """The use of the array that rules out a copy for its readers, in words; None where there is
    none."""
    if use.inlined or use.aliases or use.reassigned or use.read_as or use.reinterpreted:
        return "it is reached through other pointers"
    other = next((a for a in use.accesses if a.kind not in ("load", "store")), None)
    if other is not None:
        return f"line {other.line} updates it in place"
    if len(use.tokens) != len(use.accesses):
        return "its address is taken"
    if "volatile" in use.parameter.type_text:
        return "it is volatile, so readers need the values that other threads write meanwhile"
    if view.in_namespace and not use.parameter.end:
        return "its parameter is not in the source"
    return None
