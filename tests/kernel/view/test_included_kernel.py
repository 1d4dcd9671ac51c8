"""Kernels in included files are read, placed and laid out like those of the source itself."""

import numpy as np
import pytest

from placewise import advise, advise_layout, make_case
from placewise.errors import ExecutionError, UnsupportedError
from placewise.kernel.cases.prepare_case import read_case
from placewise.kernel.view import inline_kernel_file

HEADER = "#pragma once\nstruct P { float x, y; float cold[6]; };\n"
KERNEL = """#include "types.h"
__launch_bounds__(64)
__global__ void push(P *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i].x += p[i].y;
}
"""
MAIN = """#include <stdio.h>
#include "part/list.h"
int main() { return 0; }
"""


@pytest.fixture
def case(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "types.h").write_text(HEADER)
    (tmp_path / "part" / "push.cuh").write_text(KERNEL)
    (tmp_path / "part" / "list.h").write_text('#include "types.h"\n#include "push.cuh"\n')
    (tmp_path / "main.cu").write_text(MAIN)
    data = np.ones((4096, 8), np.float32)
    return make_case("push", tmp_path / "main.cu", [data, np.int32(4096)], block=64, problem=4096)


def test_the_defining_file_takes_its_directives_place(case):
    read = read_case(case)
    assert KERNEL.splitlines()[3] in read.case.source
    assert "int main() { return 0; }" in read.case.source
    assert any("push.cuh" in note for note in read.notes)
    assert [a.name for a in read.view.arrays] == ["p"]


def test_its_lines_are_counted_as_the_note_says(case):
    read = read_case(case)
    assert "its line 1 is line 3 of main.cu" in read.joined
    lines = read.case.source.splitlines()
    assert lines[2 : 2 + KERNEL.count("\n")] == KERNEL.splitlines()


def test_errors_of_the_run_say_so_too(case):
    header = case.path.parent / "part" / "push.cuh"
    header.write_text(KERNEL.replace("p[i].x", "p[i + n].x"))
    with pytest.raises(ExecutionError, match=r"(?s)main\.cu:7: out of bounds.*line 1 is line 3"):
        advise(case, "A100")


def test_its_arrays_can_be_laid_out_anew(case):
    advice = advise_layout(case, "A100", layouts=["soa"])
    assert advice.structs[0].options[0].proven


def test_a_kernel_that_no_included_file_defines_is_refused(case):
    from dataclasses import replace

    with pytest.raises(UnsupportedError, match="not found"):
        inline_kernel_file(replace(case, kernel="missing"))
