"""The text of an edited kernel under another name, so that it can stand beside the original."""

from __future__ import annotations

import re

from placewise.errors import UnsupportedError
from placewise.rewriter.draft import Draft


def renamed_kernel(draft: Draft, old: str, new: str) -> str:
    """The kernel's definition with the draft's edits, renamed from ``old`` to ``new``.

    Raises UnsupportedError where the definition does not contain the name, as when a macro makes
    it.
    """
    view, text = draft.view, draft.text.text
    first = view.parameters[0].start if view.parameters else view.body_start
    found = list(re.finditer(rb"\b%s\b" % re.escape(old).encode(), text[: max(first, 0)]))
    named = [match for match in found if match.start() >= view.signature_start]
    if not named:
        line = text[: view.signature_start].count(b"\n") + 1
        raise UnsupportedError(
            f"the definition of kernel '{old}' does not contain its name (a macro makes it), so "
            "no version of it can be written beside it",
            where=f"{draft.case.filename}:{line}",
        )
    draft.text.replace(named[-1].start(), named[-1].end(), new)
    return draft.text.part(view.signature_start, view.body_end)


def unique_functions(drafts: list[Draft]) -> list[str]:
    """Lines of the functions that the drafts declare at file scope, each function once."""
    pieces: dict[str, None] = {}
    for draft in drafts:
        current: list[str] = []
        for line in draft.declarations:
            if not line.startswith((" ", "}", "#")) and current:
                pieces["\n".join(current)] = None
                current = []
            current.append(line)
        if current:
            pieces["\n".join(current)] = None
    return [line for piece in pieces for line in piece.split("\n")]
