"""A form to fill in: the launch and inputs of a kernel that was pasted."""

from __future__ import annotations

from typing import Any

from placewise.kernel.cases.drafted_case import (
    ELEMENTS,
    DraftedArgument,
    DraftedKernel,
    drafted_kernels,
)


def draft(source: str) -> dict[str, Any]:
    """The kernels that ``source`` seems to have, each with arguments to start from, and the first
    one's launch. It is a guess that fills a form, which the user checks."""
    kernels = drafted_kernels(source)
    return {
        "kernels": [
            {"kernel": k.kernel, "arguments": [_form_argument(a, k) for a in k.arguments]}
            for k in kernels
        ],
        "problem": list(kernels[0].problem) if kernels else [ELEMENTS],
        "block": list(kernels[0].block if kernels else (256,)),
    }


def _form_argument(argument: DraftedArgument, kernel: DraftedKernel) -> dict[str, Any]:
    shape = None
    if not argument.is_array:
        filling = {"kind": "value", "value": kernel.size if argument.is_whole else 1}
    else:
        shape = [kernel.elements] if argument.width == 1 else [kernel.elements, argument.width]
        if not argument.is_read_only:
            filling = {"kind": "fill", "value": 0}
        elif argument.is_whole:
            filling = {"kind": "integers", "low": 0, "high": 1000}
        else:
            filling = {"kind": "uniform", "low": 0, "high": 1}
    return {"name": argument.name, "dtype": argument.dtype, "shape": shape, "filling": filling}
