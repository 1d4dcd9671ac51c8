"""A form to fill in: the launch and inputs of a kernel that was pasted."""

from __future__ import annotations

from typing import Any

from placewise.kernel.cases.drafts.drafted_case import (
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
        "problem": list(kernels[0].launch.problem) if kernels else [ELEMENTS],
        "block": list(kernels[0].block if kernels else (256,)),
    }


def _form_argument(argument: DraftedArgument, kernel: DraftedKernel) -> dict[str, Any]:
    named = {"name": argument.name, "dtype": argument.dtype}
    if not argument.is_array:
        value = kernel.values.get(argument.name, 1)
        return named | {"shape": None, "filling": {"kind": "value", "value": value}}
    shape = [kernel.elements] if argument.width == 1 else [kernel.elements, argument.width]
    filling: dict[str, Any] = {"kind": argument.filling}
    filling |= {"value": 0} if argument.filling == "fill" else {"low": 0, "high": argument.high}
    return named | {"shape": shape, "filling": filling}
