"""Orders of matrices by the sectors that they move, against a count by hand."""

import numpy as np

from placewise.choose.matrix_orders import matrix_uses, order_candidates, transposed_matrix
from placewise.executor import execute
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.view import find_matrices
from placewise.memory.fields import FieldRecorder
from placewise.space.layout import Field, Record

SOURCE = """__global__ void k(const float *a, float *o, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = 0; k < m; k++) o[k * n + i] = a[i * m + k];
}"""


def uses():
    n, m = 64, 40
    arrays = [np.zeros((n, m), np.float32), np.zeros((m, n), np.float32)]
    case = read_case(
        make_case("k", SOURCE, [*arrays, np.int32(n), np.int32(m)], block=64, grid=1)
    ).case
    matrices = find_matrices(case)
    record = Record("element", (Field("element", 4, 4),), 4)
    recorder = FieldRecorder(record, ("a", "o"), case.launch)
    execute(
        compile_case(case), case.launch, case.inputs,
        consumer=recorder, trace_blocks=recorder.trace_blocks,
    )  # fmt: skip
    return {u.matrix.name: u for u in matrix_uses(matrices, recorder.accesses())}


def test_sectors_are_counted_in_either_order():
    found = uses()
    # 2 warps × 40 accesses; a row is 160 bytes, so that each lane has a sector of its own.
    assert (found["a"].requests, found["a"].sectors) == (80, 80 * 32)
    # Column by column a warp reads 128 bytes in a row.
    assert found["a"].best_sectors == 80 * 4
    assert found["o"].sectors == found["o"].best_sectors == 80 * 4


def test_only_orders_that_save_sectors_are_tried():
    found = uses()
    ((stored,),) = order_candidates(tuple(found.values()))
    assert stored.matrix.name == "a"
    assert stored.is_transposed


def test_lines_begin_at_multiples_of_128_bytes():
    matrix = uses()["a"].matrix
    assert transposed_matrix(matrix).order.pitch == 64
