"""What the edits of a draft make of its case."""

from __future__ import annotations

from dataclasses import replace

from placewise.kernel.cases.case import Case
from placewise.kernel.view.written_out.struct_members import back_in_structs, with_structs
from placewise.rewriter.draft import Draft
from placewise.rewriter.rewritten import Rewritten
from placewise.rewriter.signature import edit_signature, insert_notes, put_members_back
from placewise.rewriter.text import with_line_ends_of
from placewise.space import Placement


def finish(draft: Draft, placement: Placement, host: str) -> Rewritten:
    """The case with the edits of ``draft``, in which arrays are placed by ``placement``, and notes
    above its kernel. ``host`` is its host code."""
    insert_notes(draft, "Placed by Placewise:")
    case = draft.case
    return Rewritten(
        placement=placement,
        case=with_structs(_new_case(draft), case),
        host=back_in_structs(host, case),
        edits=tuple(back_in_structs(one, case) for one in draft.edits),
        renamed=tuple(draft.renamed),
        filled=tuple(draft.filled),
        checks=tuple(draft.checks.items()),
    )


def finish_own(draft: Draft, placement: Placement) -> Rewritten:
    """The case with the edits of ``draft`` to arrays that the source itself declares, which leave
    the kernel's parameters as they are."""
    put_members_back(draft)
    edit_signature(draft)
    return finish(draft, placement, "\n".join(draft.host) + "\n")


def _new_case(draft: Draft) -> Case:
    case = draft.case
    arguments = tuple(
        made
        for argument in case.inputs.arguments
        if (made := draft.arguments.get(argument.name, argument)) is not None
    )
    return replace(
        case,
        source=with_line_ends_of(case.source, draft.text.finish()),
        launch=replace(case.launch, shared_bytes=draft.shared_bytes, window=draft.window),
        inputs=replace(
            case.inputs,
            arguments=arguments,
            constants=(*case.inputs.constants, *draft.constants),
        ),
    )
