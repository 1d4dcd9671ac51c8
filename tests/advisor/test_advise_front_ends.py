"""Advice on kernels that are not CUDA C++ files: PTX, Numba functions, CuPy's raw kernels."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import placewise
from placewise.advisor import advise
from placewise.advisor.choosers import Chooser
from placewise.errors import CaseError, PlacewiseError, UnsupportedError
from placewise.gpu.measure_case import measure_case
from placewise.kernel.cases.case import CompileOptions, Language
from placewise.kernel.cases.case_file import read_case_file
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.frontends.nvrtc import compile_kernel

SOURCE = """
__global__ void gather(const float *x, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[index[i]];
}
"""
N = 4096
X = np.random.default_rng(1).normal(size=N).astype(np.float32)
INDEX = np.random.default_rng(2).integers(0, N, N).astype(np.int32)


def arguments() -> list[np.ndarray | np.generic]:
    return [X, INDEX, np.zeros(N, np.float32), np.int32(N)]


def ptx() -> str:
    return compile_kernel(SOURCE, "gather.cu", "gather", CompileOptions(arch="sm_75")).ptx


@pytest.mark.slow
def test_ptx_is_judged_as_the_source_is() -> None:
    source = make_case("gather", SOURCE, arguments(), problem=N, block=128)
    case = make_case("gather", ptx(), arguments(), problem=N, block=128)
    assert case.language is Language.PTX
    assert case.file_name == "gather.ptx"
    advice, original = advise(case, "A100"), advise(source, "A100")
    assert advice.recommended is None
    assert any("is PTX: placements are predicted" in note for note in advice.notes)
    names = dict(zip(("x", "index", "out"), ("argument1", "argument2", "argument3"), strict=True))
    theirs = {tuple(o.placement): o.traffic.ratio for o in advice.options}
    compared = 0
    for option in original.options:
        if any(space == "shared" for _, space in option.placement):
            continue
        renamed = tuple((names[array], space) for array, space in option.placement)
        # The source says "const", so the compiler may load through the read-only cache already.
        if renamed in theirs:
            assert theirs[renamed] == pytest.approx(option.traffic.ratio, rel=0.05)
            compared += 1
    assert compared >= 3
    written = [o for o in advice.options if o.verification is not None]
    assert len(written) >= 2
    for option in written:
        (move,) = option.placement.moved(advice.present.placement)
        if move[2] == "readonly":
            assert option.proven
            assert option.rerun is not None
            assert option.rewritten.case.source.count("ld.global.nc") == 1
        elif move[2] == "constant":
            assert "only CUDA C++ is rewritten for constant" in option.verification.detail
        else:
            assert advice.machine.space(move[2]).is_cache_hint
            assert option.proven


def test_ptx_in_a_case_file(tmp_path: Path) -> None:
    (tmp_path / "gather.ptx").write_text(ptx())
    np.save(tmp_path / "x.npy", X)
    np.save(tmp_path / "index.npy", INDEX)
    path = tmp_path / "gather.toml"
    path.write_text(
        f"""
schema = 1
kernel = "gather"
source = "gather.ptx"
launch = {{ problem = [{N}], block = [128] }}
arguments = [
    {{ name = "x", file = "x.npy" }},
    {{ name = "index", file = "index.npy" }},
    {{ name = "out", dtype = "float32", shape = [{N}], uninitialised = true }},
    {{ name = "n", dtype = "int32", value = {N} }},
]
"""
    )
    advice = advise(read_case_file(path), "A100")
    assert {array for o in advice.options for array, _ in o.placement} == {"x", "index", "out"}
    path.write_text(path.read_text().replace('kernel = "gather"', 'kernel = "scatter"'))
    with pytest.raises(CaseError, match=r"gather\.ptx: the PTX has no kernel 'scatter'"):
        advise(read_case_file(path), "A100")


def test_ptx_for_a_newer_machine_is_refused() -> None:
    newer = compile_kernel(SOURCE, "gather.cu", "gather", CompileOptions(arch="sm_90")).ptx
    case = make_case("gather", newer, arguments(), problem=N, block=128)
    with pytest.raises(CaseError, match="is for sm_90, it does not run on sm_80"):
        advise(case, "A100")
    with pytest.raises(UnsupportedError, match="is PTX, only placements of CUDA"):
        measure_case(case)


@pytest.mark.slow
def test_a_numba_function() -> None:
    cuda = pytest.importorskip("numba.cuda")
    pytest.importorskip("numba_cuda")

    @cuda.jit
    def gather(x, index, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = x[index[i]]

    case = make_case("gather", gather, arguments(), problem=N, block=128)
    # This chooser runs forms that gain nothing, too.
    advice = advise(case, "A100", chooser=Chooser.OPTIMUM)
    assert advice.case.language is Language.NUMBA
    assert [a.name for a in advice.case.inputs.arguments] == ["x", "index", "out", "n"]
    assert {array for o in advice.options for array, _ in o.placement} == {"x", "index", "out"}
    assert advice.run.arch == "sm_80"
    proven = [o for o in advice.options if o.proven]
    assert proven
    assert all(o.rerun is not None and o.rewritten.case.file_name.endswith(".ptx") for o in proven)


ROWS = """
__global__ void rows(const float *m, float *s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float t = 0;
    for (int k = 0; k < 64; ++k) t += m[i * 64 + k];
    s[i] = t; }
"""


def test_advice_without_a_source_promises_no_tiles_and_no_layouts() -> None:
    given = [np.ones(64 * 256, np.float32), np.zeros(256, np.float32)]
    code = compile_kernel(ROWS, "rows.cu", "rows", CompileOptions()).ptx
    source, bare = (
        advise(make_case("rows", text, given, block=128, problem=256), "A100", finalists=0)
        for text in (ROWS, code)
    )
    assert "placewise layout" in source.patterns[0]
    assert "placewise layout" not in bare.patterns[0]
    assert "structure of arrays" in bare.patterns[0]
    assert "only of how its arrays are loaded" in bare.verdict
    assert "shared memory are written for CUDA C++ source alone" in bare.verdict
    assert "only of how" not in source.verdict


def test_loads_are_rewritten_where_the_user_says() -> None:
    cuda = pytest.importorskip("numba.cuda")
    pytest.importorskip("numba_cuda")

    @cuda.jit
    def gather(x, index, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = x[index[i]]

    function = make_case("gather", gather, arguments(), problem=N, block=128)
    text = make_case("gather", ptx(), arguments(), problem=N, block=128)
    for case, x, out in ((function, "x", "out"), (text, "argument1", "argument3")):
        found = placewise.rewrite(case, {x: "readonly"}, "A100")
        assert found.case.language is Language.PTX
        assert found.case.source.count("ld.global.nc") == 1
        assert placewise.verify(found, case).identical
        assert np.array_equal(placewise.execute(found.case).output(out), X[INDEX])
        for moves, message in (
            ({x: "texture"}, "only CUDA C.. is rewritten for texture"),
            ({out: "readonly"}, "the kernel writes to it"),
            ({"nothing": "readonly"}, "no array 'nothing'"),
        ):
            with pytest.raises(PlacewiseError, match=message):
                placewise.rewrite(case, moves, "A100")


@dataclass
class RawKernel:
    code: str
    name: str
    options: tuple[str, ...] = ()
    backend: str = "nvrtc"
    file_path: str | None = None


def test_a_raw_kernel_of_cupy_is_cuda() -> None:
    raw = RawKernel(SOURCE.replace("float", "REAL"), "gather", ("-DREAL=float", "-std=c++14"))
    case = make_case("gather", raw, arguments(), problem=N, block=128)
    assert case.language is Language.CUDA
    assert case.options.defines == (("REAL", "float"),)
    assert case.options.std == "c++14"
    advice = advise(case, "A100")
    assert any(o.verification is not None and o.proven for o in advice.options)
