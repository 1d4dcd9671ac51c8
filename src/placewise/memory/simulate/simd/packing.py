"""Those words of a vector that a mask chooses, moved to its first places."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.registry import cpu_target

from placewise.memory.simulate.simd.vector_code import BYTE, SHORT, Code

_FEATURES = cpu_target.target_context.codegen().magic_tuple()[2].split(",")
PACKS, MOVES = "+avx512f" in _FEATURES, "+avx2" in _FEATURES
"""Whether the processor can do that, and whether it can move eight words of 32 bits to places that
another vector says."""
_EIGHT = ir.VectorType(SHORT, 8)


def moved8(code: Code, values: Any, chosen: Any) -> Any:
    """Those of eight words of 32 bits that are chosen by a word's bits, with AVX2: where they are
    to go is looked up. Behind them lies anything."""
    return _moved(code, values, chosen, 1)


def moved4(code: Code, values: Any, chosen: Any) -> Any:
    """The same of four words of 64 bits."""
    found = _moved(code, code.b.bitcast(values, _EIGHT), chosen, 2)
    return code.b.bitcast(found, values.type)


def _moved(code: Code, values: Any, chosen: Any, each: int) -> Any:
    b = code.b
    row = b.gep(_places(code, each), [SHORT(0), b.zext(chosen, SHORT)])
    return code.call("llvm.x86.avx2.permd", _EIGHT, [values, b.zext(b.load(row), _EIGHT)])


def _places(code: Code, each: int) -> Any:
    """A table in the module: for each mask of words of ``each`` times 32 bits the numbers of their
    parts."""
    name = f"placewise_places_of_masks_{each}"
    found = code.b.module.globals.get(name)
    if found is None:
        row, words = ir.VectorType(BYTE, 8), range(8 // each)
        rows = []
        for mask in range(1 << len(words)):
            first = sorted(words, key=lambda n: not mask >> n & 1)
            rows.append(ir.Constant(row, [each * n + part for n in first for part in range(each)]))
        table = ir.Constant(ir.ArrayType(row, len(rows)), rows)
        found = cgutils.global_constant(code.b, name, table)
    return found
