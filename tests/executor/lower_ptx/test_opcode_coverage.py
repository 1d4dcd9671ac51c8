"""Every opcode that is lowered has a conformance test: none can be added without one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from placewise.executor.lower_ptx import table

HERE = Path(__file__).parent
CONFORMANCE = [
    "../support/instruction_forms.py",
    "test_integer_instructions.py",
    "test_float_instructions.py",
    "test_conversions.py",
    "test_narrow_floats.py",
    "test_video_instructions.py",
    "test_warp_instructions.py",
    "test_atomics.py",
    "test_async_copies.py",
    "test_matrix_products.py",
    "test_memory_instructions.py",
    "test_calls.py",
]
"""Modules that compare single instructions with independent arithmetic."""
THROUGH_CUDA = {
    "cvta": ("test_calls.py", "Shape* all[]"),
    "isspacep": ("test_warp_instructions.py", "__isShared"),
    "wmma": ("test_matrix_products.py", "wmma::mma_sync"),
    "activemask": ("test_warp_instructions.py", "__activemask"),
    "mapa": ("test_async_copies.py", "map_shared_rank"),
    "tex": ("../texture/test_textures.py", "tex2D"),
    "tld4": ("../texture/test_textures.py", "gather"),
    "suld": ("../texture/test_surfaces.py", "surf2Dread"),
    "sust": ("../texture/test_surfaces.py", "surf2Dwrite"),
}
"""Opcodes tested by what CUDA C++ makes them from: file and what stands there."""


def texts():
    return "\n".join((HERE / name).read_text() for name in CONFORMANCE)


@pytest.mark.parametrize("name", sorted(table.COVERED))
def test_an_opcode_has_a_conformance_test(name):
    if name in THROUGH_CUDA:
        file, words = THROUGH_CUDA[name]
        assert words in (HERE / file).read_text()
        return
    # SIMD video instructions are named without their number of parts.
    stem = name.rstrip("24") if name in table.VIDEO else name
    assert re.search(rf"(?<![\w.]){stem}(?=[.,}}{{ \"|])", texts()), name
