"""The host code of a rewritten kernel, as CUDA C++ text."""

from __future__ import annotations

import re

from placewise.kernel.cases.case import Case
from placewise.kernel.launch import Dim3
from placewise.rewriter.draft import Draft

SHARED_WITHOUT_OPT_IN = 48 * 1024
"""Dynamic shared memory that needs no function attribute (CUDA C++ Programming Guide)."""


def host_text(draft: Draft) -> str:
    """Copies, texture objects, function attributes and the launch, in order."""
    case = draft.case
    lines = list(draft.host)
    if draft.shared_bytes > SHARED_WITHOUT_OPT_IN:
        lines += [
            f"cudaFuncSetAttribute({case.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, "
            f"{draft.shared_bytes});"
        ]
    renamed = dict(draft.renamed)
    arguments = ", ".join(
        renamed.get(p.name, p.name)
        for p in draft.view.parameters
        if draft.parameters.get(p.name, "") is not None
    )
    shape = f"{_dim3(case.launch.grid)}, {_dim3(case.launch.block)}"
    if draft.shared_bytes or draft.window is not None:
        shape += f", {draft.shared_bytes}"
    if draft.window is not None:
        shape += ", stream"
    if draft.parameters:
        lines += [
            f"// {where} declares {case.kernel} with the parameters that it had: change it there."
            for where in draft.view.declared_in
        ]
    lines.append(f"{case.kernel}<<<{shape}>>>({arguments});")
    if draft.window is not None:
        lines.append("// After the last launch that uses it: cudaCtxResetPersistingL2Cache();")
    return "\n".join(lines) + "\n"


def launches_itself(case: Case) -> bool:
    """Whether the file of the kernel launches it, with the shared memory that it needs now."""
    kernel = re.escape(case.kernel.split("<")[0].split("::")[-1])
    return re.search(rf"\b{kernel}\s*(?:<[^<>;]*>)?\s*<<<", case.source) is not None


def _dim3(dims: Dim3) -> str:
    return f"dim3({', '.join(str(d) for d in dims)})"
