"""Edits the kernel's parameter list and inserts text before its definition."""

from __future__ import annotations

import re

from placewise.kernel.view.tiles.tile import whole_numbers
from placewise.kernel.view.tree.places import above_comment
from placewise.rewriter.draft import Draft


def edit_signature(draft: Draft) -> None:
    """Replace and remove parameters as the draft says, in the definition and in prototypes in the
    file."""
    definition = tuple((p.start, p.end) for p in draft.view.parameters)
    for ranges in (definition, *draft.view.prototypes):
        _edit_parameters(draft, ranges)


def put_members_back(draft: Draft) -> None:
    """Remove the parameters of members of structs that have not moved: the struct holds them."""
    for member in draft.case.members:
        if member.name not in draft.parameters:
            draft.parameters[member.name] = None
            draft.arguments[member.name] = None


def _edit_parameters(draft: Draft, parameters: tuple[tuple[int, int], ...]) -> None:
    """Edit one list of parameters, given the byte range of each parameter."""
    names = [p.name for p in draft.view.parameters]
    for name, (start, end) in zip(names, parameters, strict=True):
        new = draft.parameters.get(name)
        if new is not None:
            draft.text.replace(start, end, new)
    removed = [draft.parameters.get(name, "") is None for name in names]
    at = 0
    while at < len(parameters):
        if not removed[at]:
            at += 1
            continue
        behind = at
        while behind < len(parameters) and removed[behind]:
            behind += 1
        # With consecutive removed parameters one comma goes, too: that after them, else that
        # before.
        if behind < len(parameters):
            start, end = parameters[at][0], parameters[behind][0]
        else:
            start = parameters[at - 1][1] if at else parameters[at][0]
            end = parameters[behind - 1][1]
        draft.text.replace(start, end, "")
        at = behind


def insert_notes(draft: Draft, heading: str) -> None:
    """Insert the draft's notes, under a heading, and its declarations before the kernel, above the
    comment that belongs to it."""
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
    missing = [
        f"#include <{header}>"
        for header in draft.includes
        if not re.search(rb"^[ \t]*#[ \t]*include[ \t]*<%s>" % header.encode(), text, re.MULTILINE)
    ]
    if missing:
        draft.text.insert(0, "\n".join(missing) + "\n")


def _this_launch(draft: Draft) -> str:
    """In words, the values that sizes in the rewritten source depend on: the launch and the integer
    arguments or, if there are only tiles, the values that the kernel checks."""
    launch = draft.case.launch
    shapes = [f"{what} {'x'.join(map(str, dims))}" for what, dims in
              (("grid", launch.grid), ("block", launch.block))]  # fmt: skip
    numbers = [
        f"{name} = {value}"
        for a in draft.case.inputs.arguments
        for name, value in whole_numbers(a).items()
        if name in draft.checks or (draft.constants and "." not in name)
    ]
    return ", ".join((*(shapes if draft.constants else shapes[1:]), *numbers))
