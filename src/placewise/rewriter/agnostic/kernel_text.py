"""A drafted kernel as text under another name, to stand beside the original."""

from __future__ import annotations

import re

from placewise.errors import UnsupportedError
from placewise.rewriter.draft import Draft


def renamed_kernel(draft: Draft, old: str, new: str) -> str:
    """The kernel's definition with the draft's edits, called ``new`` in place of ``old``.

    Raises UnsupportedError where the name does not stand in the definition, as in a macro's.
    """
    view, text = draft.view, draft.text.text
    first = view.parameters[0].start if view.parameters else view.body_start
    found = list(re.finditer(rb"\b%s\b" % re.escape(old).encode(), text[: max(first, 0)]))
    named = [match for match in found if match.start() >= view.signature_start]
    if not named:
        line = text[: view.signature_start].count(b"\n") + 1
        raise UnsupportedError(
            f"the definition of kernel '{old}' does not spell its name, so that no version of it "
            "can be written beside it",
            where=f"{draft.case.filename}:{line}",
        )
    draft.text.replace(named[-1].start(), named[-1].end(), new)
    return draft.text.part(view.signature_start, view.body_end)


def unique_functions(drafts: list[Draft]) -> list[str]:
    """Lines of the small functions that the drafts declare at file scope, each function once."""
    pieces: dict[str, None] = {}
    for draft in drafts:
        current: list[str] = []
        for line in draft.declarations:
            if not line.startswith((" ", "}")) and current:
                pieces["\n".join(current)] = None
                current = []
            current.append(line)
        if current:
            pieces["\n".join(current)] = None
    return [line for piece in pieces for line in piece.split("\n")]
