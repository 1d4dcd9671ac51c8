"""Rewrites that a person has read and approved, before → after."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from placewise.errors import UnsupportedError
from placewise.executor.run_case import run_case
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view import analyse_source
from placewise.rewriter import rewrite
from placewise.space import MemorySpace, Placement, Way

GOLDEN = Path(__file__).with_name("golden")
F = np.zeros((64, 64), np.float32)
N = np.int32(64)

CASES = {
    "blur-readonly-constant": ({"src": "readonly", "weights": "constant"}, "blur"),
    "blur-texture": ({"src": "texture", "weights": "texture"}, "blur"),
    "blur-shared": ({"src": "shared", "dst": "shared"}, "blur"),
    "gather-mixed": ({"index": "texture", "table": "shared", "x": "constant"}, "gather"),
}


def blur():
    args = [F, np.zeros(3, np.float32), F, N]
    return make_case(
        "blur", (GOLDEN / "blur.cu").read_text(), args, block=(16, 4), problem=(64, 64)
    )


def gather():
    args = [np.zeros(256, np.int32), np.zeros(100), np.zeros(256), np.zeros(256), np.int32(256)]
    return make_case("gather", (GOLDEN / "gather.cu").read_text(), args, block=64, problem=256)


@pytest.mark.parametrize("name", CASES)
def test_golden(name, machine):
    placement, source = CASES[name]
    case = {"blur": blur, "gather": gather}[source]()
    rewritten = rewrite(case, Placement.of(placement), machine, analyse_source(case))
    assert rewritten.case.source == (GOLDEN / f"{name}.cu").read_text()
    assert rewritten.host == (GOLDEN / f"{name}.host.cu").read_text()


def test_the_new_case_carries_what_the_new_kernel_needs(machine):
    case = gather()
    view = analyse_source(case)
    placement = Placement.of({"index": "texture", "table": "shared", "x": "constant"})
    rewritten = rewrite(case, placement, machine, view)
    inputs = rewritten.case.inputs
    assert [type(a).__name__ for a in inputs.arguments] == [
        "TextureArgument", "ArrayArgument", "ArrayArgument", "ScalarArgument",
    ]  # fmt: skip
    assert [a.name for a in inputs.arguments] == ["index_tex", "table", "y", "n"]
    assert [(name, data.shape) for name, data in inputs.constants] == [("x_const", (256,))]
    assert rewritten.case.launch.shared_bytes == 0
    assert "double table_tile[100]" in rewritten.case.source
    assert rewritten.renamed == (("index", "index_tex"), ("x", "x_const"))
    assert case.launch.shared_bytes == 0


def test_texels_of_64_bit_numbers_are_pairs(machine):
    case = gather()
    data = np.linspace(0, 1, 100)
    arguments = list(case.inputs.arguments)
    arguments[1] = replace(arguments[1], data=data)
    case = replace(case, inputs=replace(case.inputs, arguments=tuple(arguments)))
    rewritten = rewrite(case, Placement.of({"table": "texture"}), machine, analyse_source(case))
    texels = rewritten.case.inputs.arguments[1].data
    assert (texels.shape, texels.dtype) == ((100, 2), np.dtype("int32"))
    assert texels.tobytes() == data.tobytes()


def test_a_space_is_named_by_the_machine_alone(machine):
    """Another load function, texture type or keyword needs an entry of the machine, no code."""
    spaces = (
        machine.space("global"),
        MemorySpace("streaming", "E", Way.INTRINSIC, ("L2",), "global", False, None, "__ldcs"),
        MemorySpace("bound", "B", Way.BINDING, ("L2",), "x", False, "cudaTextureObject_t", "fetch"),
        MemorySpace("near", "N", Way.HOST_BUFFER, ("L2",), "x", False, "__managed__"),
    )
    other = replace(machine, spaces=spaces)
    case = blur()
    view = analyse_source(case)

    def source(space):
        return rewrite(case, Placement.of({"weights": space}), other, view).case.source

    assert "__ldcs(&weights[1])" in source("streaming")
    assert "fetch<float>(weights_tex, 1)" in source("bound")
    assert "__managed__ float weights_const[3];" in source("near")


def test_names_in_use_are_avoided(machine):
    source = """
__global__ void k(const float *A, float *B, int t) {
    float A_const = 1, A_tex = 2, A_tile = 3, tile_thread = 4;
    B[threadIdx.x] = A[threadIdx.x] + A_const + A_tex + A_tile + tile_thread + t;
}
"""
    case = make_case("k", source, [F, F, N], block=64, grid=64)
    view = analyse_source(case)
    for space, name in (("constant", "A_const2"), ("texture", "A_tex2"), ("shared", "A_tile2")):
        text = rewrite(case, Placement.of({"A": space}), machine, view).case.source
        assert name in text
    assert "tile_thread2" in text


LARGE = """
__global__ void k(const char *A, const double *B, double *C) {
    extern __shared__ float own[];
    own[threadIdx.x] = A[threadIdx.x];
    C[threadIdx.x] = B[threadIdx.x * 7919 % 6500] + own[threadIdx.x];
}
"""


def large():
    args = [np.zeros(33, np.int8), np.zeros(6500), np.zeros(33)]
    return make_case("k", LARGE, args, block=33, grid=1, shared_bytes=132)


def test_tiles_beyond_static_memory_share_one_buffer_behind_the_kernels_own(machine):
    case = large()
    placement = Placement.of({"A": "shared", "B": "shared"})
    rewritten = rewrite(case, placement, machine, analyse_source(case))
    # 132 bytes of its own, then 33 bytes of A from 144 on, then the doubles of B from 192 on.
    assert "(block_tiles + 144)" in rewritten.case.source
    assert "(block_tiles + 192)" in rewritten.case.source
    tile = analyse_source(case).array("B").tile
    assert tile is not None
    assert rewritten.case.launch.shared_bytes == 192 + tile.bytes(8)


def test_tiles_beyond_static_memory_are_refused_where_the_file_launches_the_kernel(machine):
    """Its launches would ask for too little shared memory, and the kernel would write behind it."""
    case = large()
    case = replace(case, source=case.source + "void run() { k<<<1, 33, 132>>>(0, 0, 0); }\n")
    with pytest.raises(UnsupportedError, match="launches in this file do not ask"):
        rewrite(case, Placement.of({"B": "shared"}), machine, analyse_source(case))


def test_what_does_not_fit_the_machine_is_refused(machine):
    case = make_case(
        "k", "__global__ void k(const int *A, int *B) { B[0] = A[B[0]]; }",
        [np.zeros(20_000, np.int32), np.zeros(1, np.int32)], block=1, grid=2,
    )  # fmt: skip
    view = analyse_source(case)
    with pytest.raises(UnsupportedError, match="80000 bytes, A100 has 65536"):
        rewrite(case, Placement.of({"A": "constant"}), machine, view)
    small = replace(machine, limits=replace(machine.limits, shared_bytes_per_block=49152))
    with pytest.raises(UnsupportedError, match="80000 bytes of shared memory"):
        rewrite(case, Placement.of({"A": "shared"}), small, view)


def test_an_unknown_array_is_refused(machine):
    case = blur()
    with pytest.raises(UnsupportedError, match="no array 'scr'"):
        rewrite(case, Placement.of({"scr": "texture"}), machine, analyse_source(case))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("const float *A, float *B, int n", "(float *B, int n)"),
        ("float *B, const float *A, int n", "(float *B, int n)"),
        ("float *B, int n, const float *A", "(float *B, int n)"),
        ("float *B, int n, /* in */ const float *__restrict__ A", "(float *B, int n)"),
    ],
)
def test_a_removed_parameter_takes_its_comma_along(parameters, expected, machine):
    source = f"__global__ void k({parameters}) {{ B[n] = A[n]; }}\n"
    arguments = {"A": F[0], "B": F, "n": np.int32(1)}
    case = make_case("k", source, arguments, block=1, grid=1)
    rewritten = rewrite(case, Placement.of({"A": "constant"}), machine, analyse_source(case))
    assert expected in rewritten.case.source


def test_line_ends_stay_as_they_are(machine):
    case = blur()
    windows = replace(case, source=case.source.replace("\n", "\r\n"))
    placement = Placement.of(CASES["blur-shared"][0])
    written = rewrite(windows, placement, machine, analyse_source(windows)).case.source
    expected = (GOLDEN / "blur-shared.cu").read_text()
    assert written == expected.replace("\n", "\r\n")


def test_several_arrays_share_one_constant_buffer(machine):
    case = gather()
    rng = np.random.default_rng(3)
    index, table, x, y, n = case.inputs.arguments
    filled = (
        replace(index, data=rng.integers(0, 100, 256, np.int32)),
        replace(table, data=rng.random(100)),
        replace(x, data=rng.random(256)),
        y,
        n,
    )
    case = replace(case, inputs=replace(case.inputs, arguments=filled))
    placement = Placement.of({"index": "constant", "table": "constant"})
    rewritten = rewrite(case, placement, machine, analyse_source(case))
    assert (
        "__constant__ struct { alignas(16) int index[256]; alignas(16) double table[100]; } "
        "constant_arrays;"
    ) in rewritten.case.source
    assert "constant_arrays.table[" in rewritten.case.source
    assert (
        "cudaMemcpyToSymbol(constant_arrays, table_host, 100 * sizeof(double), 1024);"
        in rewritten.host
    )
    ((name, data),) = rewritten.case.inputs.constants
    assert (name, data.nbytes) == ("constant_arrays", 1824)
    expected = run_case(case).output("y")
    np.testing.assert_array_equal(run_case(rewritten.case).output("y"), expected)
