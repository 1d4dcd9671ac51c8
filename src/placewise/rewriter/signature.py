"""The kernel's parameter list and what stands in front of its definition."""

from __future__ import annotations

from placewise.kernel.launch import ScalarArgument
from placewise.kernel.view.tree.places import above_comment
from placewise.rewriter.draft import Draft


def edit_signature(draft: Draft) -> None:
    """Replace and remove parameters as the draft says."""
    parameters = draft.view.parameters
    for parameter in parameters:
        new = draft.parameters.get(parameter.name)
        if new is not None:
            draft.text.replace(parameter.start, parameter.end, new)
    removed = [draft.parameters.get(p.name, "") is None for p in parameters]
    at = 0
    while at < len(parameters):
        if not removed[at]:
            at += 1
            continue
        behind = at
        while behind < len(parameters) and removed[behind]:
            behind += 1
        # A run of removed parameters takes one comma along: the one behind it, else the one before.
        if behind < len(parameters):
            start, end = parameters[at].start, parameters[behind].start
        else:
            start = parameters[at - 1].end if at else parameters[at].start
            end = parameters[behind - 1].end
        draft.text.replace(start, end, "")
        at = behind


def insert_notes(draft: Draft, heading: str) -> None:
    """Put the draft's notes, under a heading, and its declarations in front of the kernel, above
    the comment that belongs to it."""
    if not draft.notes:
        return
    text = draft.text.text
    start = draft.view.signature_start
    line_start = text.rfind(b"\n", 0, start) + 1
    indent = text[line_start:start].decode()
    at = start
    if not indent.strip():
        at = above_comment(text, line_start)
    else:
        indent = ""
    notes = [f"// {heading}", *(f"//   {note}" for note in draft.notes)]
    if draft.entry or draft.constants:
        notes.append(f"// Sizes hold for {_this_launch(draft)}.")
    lines = [indent + line for line in (*notes, *draft.declarations)]
    gap = "\n" if draft.declarations else ""
    draft.text.insert(at, "\n".join(lines) + "\n" + gap)


def _this_launch(draft: Draft) -> str:
    """What sizes in the rewritten source follow from: the launch and the whole-number arguments,
    or, of tiles alone, what the kernel checks."""
    launch = draft.case.launch
    shapes = [f"{what} {'x'.join(map(str, dims))}" for what, dims in
              (("grid", launch.grid), ("block", launch.block))]  # fmt: skip
    numbers = [
        f"{a.name} = {a.value}"
        for a in draft.case.inputs.arguments
        if isinstance(a, ScalarArgument)
        and a.value.dtype.kind in "iu"
        and (draft.constants or a.name in draft.checks)
    ]
    return ", ".join((*(shapes if draft.constants else shapes[1:]), *numbers))
