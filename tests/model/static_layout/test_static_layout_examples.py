"""Peng, Grossman and Sarkar 2016: the worked examples of sections III and IV."""

import numpy as np
import pytest

from placewise import make_case
from placewise.kernel.cases.prepare_case import named_case
from placewise.kernel.launch import Launch
from placewise.kernel.static_accesses import StaticLoop
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.static_accesses import static_accesses
from placewise.model.static_layout import (
    CacheLevels,
    CostVector,
    Reading,
    Weights,
    blocks_per_sm,
    dynamic_cost,
    instruction_distance,
    is_accordant,
    static_cost,
    transactions,
)
from placewise.space.layout import array_of_structs, parse_layout, structure_of_arrays

FERMI = CacheLevels(48 * 1024, 128, 768 * 1024, 6)


def read(source, kernel, arrays, *, grid=64, block=256, **scalars):
    given = {name: np.zeros(48, np.float32) for name in arrays}
    given |= {name: np.int32(value) for name, value in scalars.items()}
    case = named_case(make_case(kernel, source, given, grid=grid, block=block))
    return case, static_accesses(case)


def accesses(items):
    for item in items:
        if isinstance(item, StaticLoop):
            yield from accesses(item.body)
        else:
            yield item


VECTOR_ADDITION = """struct MyAoS { float x, y; };
__global__ void add(MyAoS *in, float *result) {
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    float a = in[tid].x;
    float b = in[tid].y;
    result[tid] = a + b;
}"""


def test_vector_addition_has_strides_of_the_struct():
    """Section IV-B-4: 8 bytes in the array of structs, 4 in the structure of arrays."""
    case, program = read(VECTOR_ADDITION, "add", ["in", "result"])
    found = list(accesses(program.body))
    assert [(a.array, a.field, a.is_store) for a in found] == [
        ("in", "x", False), ("in", "y", False), ("result", "", True)
    ]  # fmt: skip
    assert [a.index.thread for a in found] == [1, 1, 1]
    (structs,) = find_struct_arrays(case)
    record, launch = structs.record, case.launch
    warps = launch.blocks * launch.warps_per_block
    alone = CacheLevels(0, 128, 0, 6)
    aos, soa = (
        static_cost(program, {"in": record}, {"in": layout}, launch, alone).total
        for layout in (array_of_structs(record), structure_of_arrays(record))
    )
    assert aos == warps * 100.0 * (2 + 2 + 1)
    assert soa == warps * 100.0 * (1 + 1 + 1)


def test_the_second_field_of_a_struct_hits():
    """Section IV-F: ``y`` of the same element as ``x`` before is in its cache line."""
    case, program = read(VECTOR_ADDITION, "add", ["in", "result"])
    (structs,) = find_struct_arrays(case)
    cost = static_cost(
        program, {"in": structs.record}, {"in": structs.record.declared}, case.launch, FERMI
    )
    warps = case.launch.blocks * case.launch.warps_per_block
    assert cost.total == warps * (2 * 100.0 + 2 * 1.0 + 100.0)


def test_instruction_distances():
    """Section IV-B-5: four fields of 4 bytes between A and B, both included."""
    assert instruction_distance(8 * 256, 4 * 4) == 32768
    assert instruction_distance(1024 * 256, 4 * 4) == 4194304


@pytest.mark.parametrize(
    ("stride", "count"),
    [(0, 1), (4, 1), (8, 2), (12, 3), (124, 31), (128, 32), (4096, 32), (None, 32), (-8, 2)],
)
def test_transactions_by_stride(stride, count):
    """Section IV-D."""
    assert transactions(stride) == count


def test_index_accordance_is_conservative():
    """Section IV-F: (|i - j| + 2) structs must fit the line; an unknown difference never does."""
    assert is_accordant(0, 64, 128)
    assert not is_accordant(1, 64, 128)
    assert is_accordant(-2, 32, 128)
    assert not is_accordant(None, 4, 128)


def test_indices_that_run_against_each_other_are_not_accordant():
    """Section IV-B-6: ``Arr1[i].x`` and ``Arr1[N - i].y``."""
    source = """struct S { float x, y; };
    __global__ void k(S *a, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        out[i] = a[i].x + a[n - i].y;
    }"""
    case, program = read(source, "k", ["a", "out"], n=10)
    (structs,) = find_struct_arrays(case)
    record = structs.record
    cost = static_cost(program, {"a": record}, {"a": record.declared}, case.launch, FERMI)
    warps = case.launch.blocks * case.launch.warps_per_block
    assert cost.total == warps * (2 * 100.0 + 2 * 100.0 + 100.0)


def test_blocks_per_sm():
    """Section IV-E with Table II's M2050: registers bind at 63 each, threads at 20, blocks at 64
    threads; never fewer than one."""
    limits = {"max_blocks": 8, "max_threads": 1536, "registers_per_sm": 32768}
    assert blocks_per_sm(256, registers_per_thread=63, **limits) == 2
    assert blocks_per_sm(256, registers_per_thread=20, **limits) == 6
    assert blocks_per_sm(64, registers_per_thread=20, **limits) == 8
    assert blocks_per_sm(1024, registers_per_thread=63, **limits) == 1


NEST = """struct S { float x; };
__global__ void k(S *a, int M, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < 128; j++)
            for (int k = 0; k < N; k++)
                a[threadIdx.x].x = 1;
}"""


def test_the_complexity_degree_counts_loops_of_unknown_length():
    """Section IV-H: two of the three loops, (0, 0, 1, 0) with the trailing entry left out."""
    case, program = read(NEST, "k", ["a"], M=3, N=4)
    (structs,) = find_struct_arrays(case)
    record = structs.record
    cost = static_cost(program, {"a": record}, {"a": record.declared}, case.launch, FERMI)
    assert len(cost.entries) == 3
    assert cost.entries[:2] == (0.0, 0.0)
    assert cost.entries[2] > 0.0
    assert any("line 3" in a and "unknown length" in a for a in program.assumed)


def test_cost_vectors_compare_from_the_right():
    """Section IV-H: of the two layouts the one that serves the inner instruction is preferred."""
    one = CostVector((0.0, 327680000.0, 768000000.0))
    other = CostVector((0.0, 983040000.0, 256000000.0))
    assert other < one
    assert CostVector((5.0,)) < CostVector((0.0, 1.0))
    assert (CostVector((1.0,)) + CostVector((2.0, 3.0))).entries == (3.0, 3.0)


def test_the_cost_function_of_counters():
    """Section III, by hand: 100 reads of which half hit L1 and half of the rest L2; 10 writes, all
    in L2."""
    cost = dynamic_cost(100, 10, 0.5, 0.5, 1.0, Weights(1, 30, 100))
    assert cost == 100 * (0.5 + 30 * 0.25 + 100 * 0.25) + 10 * 30


def test_data_dependent_indices_are_conservative_and_told():
    source = """struct S { float x, y; };
    __global__ void k(S *a, const int *list, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        int j = list[i];
        out[i] = a[j].x + a[j].y;
    }"""
    given = [np.zeros(8, np.float32), np.zeros(4, np.int32), np.zeros(4, np.float32)]
    case = named_case(make_case("k", source, given, grid=64, block=256))
    program = static_accesses(case)
    (structs,) = find_struct_arrays(case)
    record = structs.record
    assert any("not analysable" in a for a in program.assumed)
    cost = static_cost(program, {"a": record}, {"a": record.declared}, case.launch, FERMI)
    warps = case.launch.blocks * case.launch.warps_per_block
    # The same unknown index twice: the second field is in the first one's line.
    assert cost.total == warps * (100.0 + 32 * 100.0 + 32 * 1.0 + 100.0)


def test_uniform_accesses_can_be_left_out():
    source = """struct S { float x, y; };
    __global__ void k(S *a, float *out) { out[threadIdx.x] = a[3].x; }"""
    case, program = read(source, "k", ["a", "out"])
    (structs,) = find_struct_arrays(case)
    layouts = {"a": parse_layout("soa", structs.record)}
    costs = [
        static_cost(program, {"a": structs.record}, layouts, Launch((1, 1, 1), (32, 1, 1)), FERMI,
                    reading=Reading(charges_uniform=charged)).total
        for charged in (True, False)
    ]  # fmt: skip
    assert costs == [200.0, 100.0]
