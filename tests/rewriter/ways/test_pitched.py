"""Arrays as textures of two dimensions: index split, host code, and the same bits."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.forms.agnostic import write_agnostic_kernel, write_placement
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import execute
from placewise.executor.check import Checker
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.view import analyse_source
from placewise.machine import load_machine
from placewise.rewriter import rewrite
from placewise.space import Placement

A100 = load_machine("A100")

BLUR = """__global__ void blur(const float *image, float *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int column = min(max(x + dx, 0), width - 1), row = min(max(y + dy, 0), height - 1);
            sum += image[row * width + column];
        }
    out[y * width + x] = sum;
}
"""


def blur(width, height, seed=0):
    image = np.random.default_rng(seed).uniform(size=(height, width)).astype("f4")
    arguments = [image.ravel(), np.zeros(image.size, "f4"), np.int32(width), np.int32(height)]
    grid = (-(-width // 16), -(-height // 16))
    return make_case("blur", BLUR, arguments, block=(16, 16), grid=grid), image


def placed(case, moves, machine=A100):
    return rewrite(case, Placement.of(moves), machine, analyse_source(case))


def run(case, output):
    named, checker = named_case(case), Checker()
    ran = execute(compile_case(case), named.launch, named.inputs, check=checker)
    return ran.output(output), checker


def test_the_texture_shows_the_array_in_rows():
    case, image = blur(40, 21)
    written = placed(case, {"image": "texture2d"})
    assert "tex2D<float>(image_tex, column, row)" in written.case.source
    assert "image_tex_memory.res.pitch2D.width = width;" in written.host
    edges = np.pad(image, 1, mode="edge")
    truth = np.zeros_like(image)
    for y in range(3):
        for x in range(3):
            truth += edges[y : y + 21, x : x + 40]
    found, checker = run(written.case, "out")
    assert checker.clean
    assert np.array_equal(found.reshape(21, 40), truth)


def test_one_source_serves_all_sizes_where_the_proof_rests_on_none():
    sources = {placed(blur(w, h)[0], {"image": "texture2d"}).case.source for w, h in
               ((40, 21), (64, 48), (8, 100))}  # fmt: skip
    assert len(sources) == 1
    assert "__trap" not in sources.pop()


KINDS = {
    "double": ("f8", "double", ""),
    "long": ("i8", "long long", ""),
    "pairs": ("f4", "float2", ".y"),
    "bytes": ("u1", "uchar4", ".w"),
    "halves of words": ("i2", "short", ""),
    "a row pointer": ("f4", "float", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", KINDS)
def test_elements_of_all_kinds_of_texels(what):
    dtype, kind, member = KINDS[what]
    lanes = int(kind[-1]) if kind[-1].isdigit() else 1
    read = f"a[(i + 1) % n * p + j]{member}"
    if what == "a row pointer":
        read = "row[j]"
    source = f"""__global__ void k(const {kind} *a, double *o, int n, int p)
{{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    const {kind} *row = a + (i + 1) % n * p;
    if (j >= p) return;
    o[i * p + j] = {read};
}}
"""
    if what != "a row pointer":
        source = "\n".join(line for line in source.splitlines() if "*row" not in line)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 100, (5, 32, lanes)).astype(dtype)
    arguments = [a.reshape(-1, lanes) if lanes > 1 else a.ravel(), np.zeros(160), np.int32(5),
                 np.int32(32)]  # fmt: skip
    case = make_case("k", source, arguments, block=64, grid=(1, 5))
    found, checker = run(placed(case, {"a": "texture2d"}).case, "o")
    assert checker.clean
    assert np.array_equal(found.reshape(5, 32), np.roll(a[:, :, -1], -1, 0))


def test_bounds_read_off_a_launch_are_checked():
    source = """__global__ void k(const float *a, float *o, int n, int p)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    o[blockIdx.y * p + j] = a[blockIdx.y * p + j + n - 16];
}
"""
    a = np.arange(16 * 32, dtype="f4")

    def case(shift):
        arguments = [a, np.zeros(a.size, "f4"), np.int32(shift), np.int32(32)]
        return make_case("k", source, arguments, block=16, grid=(1, 8))

    written = placed(case(16), {"a": "texture2d"})
    assert run(written.case, "o")[1].clean
    other = named_case(case(20)).inputs
    arguments = tuple(
        a if a.name != "n" else next(b for b in other.arguments if b.name == "n")
        for a in written.case.inputs.arguments
    )
    changed = replace(written.case, inputs=replace(written.case.inputs, arguments=arguments))
    assert any(f.kind == "trap" for f in run(changed, "o")[1].findings)


REFUSED = {
    "data": ("a[i * p + (int)a[j]]", "no index of rows and columns"),
    "no rows": ("a[i + j]", "no index of rows and columns"),
    "beyond a row": ("a[i * p + j + 1]", "a column may lie outside its row of p"),
    "before a row": ("a[i * p + j - 1]", "a column may lie outside its row of p"),
    "two pitches": ("a[i * p + j] + a[i * n + j]", "may lie outside its row of n"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_indices_that_may_leave_their_row_are_refused(what):
    read, reason = REFUSED[what]
    source = f"""__global__ void k(const float *a, float *o, int n, int p)
{{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y + 1;
    if (j < p) o[i * p + j] = {read};
}}
"""
    arguments = [np.zeros(1024, "f4"), np.zeros(1024, "f4"), np.int32(8), np.int32(32)]
    case = make_case("k", source, arguments, block=32, grid=(1, 8))
    with pytest.raises(UnsupportedError, match=reason):
        placed(case, {"a": "texture2d"})


def test_rows_that_are_not_aligned_are_refused():
    with pytest.raises(UnsupportedError, match="rows of 168 bytes; those of a texture"):
        placed(blur(42, 8)[0], {"image": "texture2d"})


def test_rows_that_the_array_ends_within_are_refused():
    case, image = blur(40, 21)
    arguments = [image.ravel()[:-8], *[a.data if hasattr(a, "data") else a.value
                                       for a in case.inputs.arguments[1:]]]  # fmt: skip
    case = make_case("blur", BLUR, arguments, block=(16, 16), grid=(3, 1))
    with pytest.raises(UnsupportedError, match="832 elements are no whole rows of width = 40"):
        placed(case, {"image": "texture2d"})


def test_it_is_no_part_of_an_agnostic_kernel():
    case, _ = blur(40, 21)
    report = write_agnostic_kernel(case, ["A100"], {"image": "texture2d"}, versions=1)
    assert any("cannot be switched" in note for note in report.notes)


def test_older_machines_without_it_are_told():
    with pytest.raises(CaseError, match="texture2d"):
        write_placement(blur(40, 21)[0], "M2075", {"image": "texture2d"})
