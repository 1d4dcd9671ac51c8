"""Inserts the statements that a rewrite adds at the start and the end of the kernel's body."""

from __future__ import annotations

from placewise.kernel.source import SourceView
from placewise.rewriter.draft import Draft

_INDENT = "    "


def edit_body(draft: Draft) -> None:
    """Insert the draft's statements.

    Where the draft has statements after the body and the body has an early return, the body becomes
    a lambda, so that threads that return early reach these statements.
    """
    if not (draft.entry or draft.exit or draft.checks):
        return
    if draft.checks:
        # A launch of another shape must fail; otherwise it would silently compute wrong results.
        broken = " || ".join(f"{name} != {value}" for name, value in draft.checks.items())
        draft.entry.insert(0, f"if ({broken}) __trap();")
    view = draft.view
    indent = body_indentation(draft.text.text, view)
    wrapped = bool(draft.exit) and view.returns_early is not None
    body = draft.unique("body") if wrapped else ""
    entry = [*draft.entry, *([f"auto {body} = [&]() {{"] if wrapped else [])]
    leave = [*(["};", f"{body}();"] if wrapped else []), *draft.exit]
    draft.text.insert(view.body_start + 1, "".join(f"\n{indent}{line}" for line in entry))
    if leave:
        closing = draft.text.text.rfind(b"\n", 0, view.body_end - 1) + 1
        blank = not draft.text.text[closing : view.body_end - 1].strip()
        at = closing if blank else view.body_end - 1
        text = "".join(f"{indent}{line}\n" for line in leave)
        draft.text.insert(at, text if blank else f"\n{text}")


def body_indentation(text: bytes, view: SourceView) -> str:
    """Indentation of the first statement of the kernel's body in ``text``, its source."""
    for line in text[view.body_start + 1 : view.body_end].decode().split("\n")[1:]:
        if line.strip():
            return line[: len(line) - len(line.lstrip())] or _INDENT
    return _INDENT
