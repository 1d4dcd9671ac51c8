"""Shared arrays of the source itself with longer rows, so that lanes that go along a column meet in
different banks: ``__shared__ float tile[32][32];`` becomes ``tile[32][32 + 1]``.
"""

from __future__ import annotations

import numpy as np

from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.source import SourceView
from placewise.kernel.view.staging.own_rows import OwnRows
from placewise.rewriter.draft import Draft, require_cuda
from placewise.rewriter.finish import finish_own
from placewise.rewriter.rewritten import Rewritten
from placewise.space import Placement

BANK_BYTES = 4
"""Bytes of a bank of shared memory (CUDA C++ Programming Guide, "Shared Memory")."""


def pad_rows(case: Case, view: SourceView, rows: OwnRows) -> Rewritten:
    """The case with each row of a shared array of its own longer by a bank, or by an element where
    that is more.

    Raises UnsupportedError where the kernel is not CUDA C++.
    """
    require_cuda(case)
    draft = Draft.start(bind_names(case, view), view)
    length = draft.text.text[slice(*rows.length)].decode()
    longer = length if rows.is_factor else f"({length})"
    size = np.dtype(rows.element_dtype).itemsize if rows.element_dtype else BANK_BYTES
    more = max(1, BANK_BYTES // size)
    draft.text.replace(*rows.length, f"{longer} + {more}")
    draft.notes.append(f"{rows.name}: rows of {rows.columns} + {more} elements, for the banks")
    draft.edits.append(
        f"{rows.name}: rows of shared memory are longer by {more} (line {rows.line})"
    )
    draft.host.append(f"// {rows.name}: the launch stays as it is")
    return finish_own(draft, Placement((), padded=(rows.name,)))
