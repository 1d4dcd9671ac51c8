"""Pointers in tables, structs and constants; structs by value; scalars of every type."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from placewise.advisor import advise
from placewise.errors import CaseError, CompileError
from placewise.executor import execute
from placewise.kernel.cases.bind_names import bind_names
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.case_file import read_case_file
from placewise.kernel.cases.make_case import make_case
from placewise.kernel.cases.values import PointerTo, Struct, Uninitialised
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import Inputs
from placewise.kernel.view import analyse_source

SOURCE = """
#include <cuda_bf16.h>
struct View { const float *data; int stride; short offset; double factor; };
enum Mode { PLAIN, DOUBLED };
__constant__ View base;
__constant__ float *table[2];
__global__ void gather(float **rows, View v, const float *inner, const View *views, float *out) {
    int i = threadIdx.x;
    out[i] = rows[i % 2][i] + v.data[i * v.stride + v.offset] * v.factor + inner[i]
           + base.data[i] + table[1][i] + views[1].data[i];
}
__global__ void kinds(bool b, char c, signed char s, Mode m, long long l, unsigned short h,
                      __nv_bfloat16 x, double *out) {
    out[0] = b; out[1] = c; out[2] = s; out[3] = m; out[4] = l; out[5] = h;
    out[6] = __bfloat162float(x);
}
"""
VIEW = np.dtype([("data", "u8"), ("stride", "i4"), ("offset", "i2"), ("factor", "f8")], align=True)
RAMP = np.arange(100, dtype=np.float32)
I = np.arange(32)  # noqa: E741
EXPECTED = (
    np.where(I % 2 == 0, I, (I + 3) * 100) + (1 + 2 * I + 3) * 0.5 + (I + 7) + (I + 2) + (I + 5) + I
)


def arguments(**changed: Any) -> dict[str, Any]:
    usual: dict[str, Any] = {
        "rows": [PointerTo("first"), PointerTo("second", 3)],
        "v": Struct(VIEW, {"data": PointerTo("x", 1), "stride": 2, "offset": 3, "factor": 0.5}),
        "inner": PointerTo("x", 7),
        "views": [Struct(VIEW), Struct(VIEW, {"data": PointerTo("x")})],
        "out": Uninitialised(32, np.float32),
    }
    return {**usual, **changed}


def gather(**changed: Any) -> Case:
    return make_case(
        "gather",
        SOURCE,
        arguments(**changed),
        grid=1,
        block=32,
        buffers={"first": RAMP, "second": 100 * RAMP, "x": RAMP},
        constants={
            "base": Struct(VIEW, {"data": PointerTo("x", 2)}),
            "table": [None, PointerTo("first", 5)],
        },
    )


def run(case: Case) -> dict[str, np.ndarray[Any, Any]]:
    case = bind_names(case, analyse_source(case))
    kernel = compile_kernel(case.source, case.filename, case.kernel, case.options)
    return dict(execute(kernel, case.launch, case.inputs).outputs)


def test_pointers_wherever_a_program_keeps_them() -> None:
    assert np.array_equal(run(gather())["out"], EXPECTED.astype(np.float32))
    assert len(gather().inputs.pointers) == 7


def test_a_null_pointer() -> None:
    source = "__global__ void k(const float *x, int *out) { *out = x == nullptr; }"
    case = make_case("k", source, [None, np.zeros(1, np.int32)], grid=1, block=1)
    assert run(case)["out"] == [1]


@pytest.mark.slow
def test_arrays_that_pointers_lead_to_stay_where_they_are() -> None:
    advice = advise(gather(), "A100", finalists=1)
    reasons = {(c.array, c.space): c.reason for c in advice.illegal}
    assert reasons["rows", "constant"] == "it holds pointers to 'first'"
    assert reasons["views", "texture"] == "it holds pointers to 'x'"
    mine = make_case(
        "k",
        "__global__ void k(const float *a, float **b) { b[0][threadIdx.x] += a[threadIdx.x]; }",
        [RAMP[:32], [PointerTo("a")]],
        grid=1,
        block=16,
    )
    reasons = {(c.array, c.space): c.reason for c in advise(mine, "A100").illegal}
    assert reasons["a", "texture"] == "a pointer to it is stored in 'b'"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"inner": PointerTo("y")},
            r"argument 'inner': a pointer to 'y', which is no array .*\n.*x",
        ),
        ({"inner": PointerTo("x", 101)}, "a pointer to element 101 of 'x', which has 100"),
        ({"rows": RAMP}, r"argument 1 \('rows'\): .*table of pointers.* has float32"),
        ({"v": np.int64(0)}, "the kernel expects a View of 24 bytes, got 8 bytes"),
        ({"inner": np.float32(1)}, r"expects an array \(const float \*inner\), got a scalar"),
        ({"v": Struct(VIEW, {"size": 1})}, r"the struct has no field 'size'\n  hint: it has: data"),
        ({"v": Struct(VIEW, {"stride": PointerTo("x")})}, "'stride' is a int32, a pointer takes 8"),
        ({"v": Struct(VIEW, {"stride": 2**40})}, "field 'stride': "),
        ({"v": Struct(np.float32)}, "a struct needs a structured type, not float32"),
        ({"v": Struct("nonsense")}, "'nonsense' is no type"),
        (
            {"views": [Struct(VIEW), Struct([("a", "i4")])]},
            "structs of one array have several types",
        ),
        ({"views": [Struct(VIEW), 3]}, "expected a NumPy array or scalar, not list"),
        ({"first": RAMP}, "a buffer has the name of an argument"),
    ],
)
def test_what_does_not_fit_is_said(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        run(gather(**changed))


def test_members_must_lie_where_the_source_has_them() -> None:
    packed = np.dtype([(n, VIEW[n]) for n in VIEW.names or ()] + [("pad", "i2")])
    with pytest.raises(CaseError, match=r"member 'factor' of View is at byte 16, .* at byte 14\n"):
        run(gather(v=Struct(packed)))
    other = np.dtype([("a", "u8"), ("b", "i2"), ("c", "i4"), ("d", "f8")], align=True)
    with pytest.raises(CaseError, match="member 'offset' of View is at byte 12"):
        run(gather(v=np.zeros(1, np.dtype({**_layout(other), "offsets": [0, 8, 10, 16]}))[0]))
    with pytest.raises(CaseError, match=r"argument 4 \('views'\): member 'factor'"):
        run(gather(views=np.zeros(3, packed)))


def _layout(dtype: np.dtype[Any]) -> dict[str, Any]:
    names = list(dtype.names or ())
    return {"names": names, "formats": [dtype[n] for n in names], "itemsize": dtype.itemsize}


def test_scalars_of_every_type() -> None:
    case = make_case(
        "kinds",
        SOURCE,
        [
            np.bool_(True), np.int8(-5), np.int8(-6), np.int32(1), np.int64(-(2**50)),
            np.uint16(65535), np.uint16(0x3FC0), np.zeros(7),
        ],
        grid=1,
        block=1,
    )  # fmt: skip
    assert run(case)["out"].tolist() == [1, -5, -6, 1, -(2**50), 65535, 1.5]


CASE = """
schema = 1
kernel = "gather"
source = "gather.cu"
flags = ["--fmad=false"]

[sizes]
threads = 32

[launch]
grid = [1]
block = ["threads"]

[[arguments]]
name = "rows"
pointers = ["first", { array = "second", element = 3 }]

[[arguments]]
name = "v"
struct = [
    { name = "data", pointer = { array = "x", element = 1 } },
    { name = "stride", dtype = "int32", value = 2 },
    { name = "offset", dtype = "int16", value = 3 },
    { name = "factor", dtype = "float64", value = 0.5 },
]

[[arguments]]
name = "inner"
pointer = { array = "x", element = 7 }

[[arguments]]
name = "views"
file = "views.npy"

[[arguments]]
name = "out"
dtype = "float32"
shape = ["threads"]
uninitialised = true

[[buffers]]
name = "first"
dtype = "float32"
shape = [100]
arange = {}

[[buffers]]
name = "second"
dtype = "float32"
shape = [100]
arange = { step = 100 }

[[buffers]]
name = "x"
dtype = "float32"
shape = [100]
arange = {}

[[constants]]
name = "base"
struct = [
    { name = "data", pointer = { array = "x", element = 2 } },
    { name = "stride", dtype = "int32", value = 0 },
    { name = "offset", dtype = "int16", value = 0 },
    { name = "factor", dtype = "float64", value = 0 },
]

[[constants]]
name = "table"
pointers = ["", { array = "first", element = 5 }]
"""


def written(folder: Path, text: str = CASE) -> Path:
    (folder / "gather.cu").write_text(SOURCE.replace("views[1].data[i]", "views[1].stride"))
    np.save(folder / "views.npy", np.array([(0, 1, 2, 3), (0, 9, 0, 0)], VIEW))
    path = folder / "gather.toml"
    path.write_text(text)
    return path


def test_a_case_file_says_them_all(tmp_path: Path) -> None:
    case = read_case_file(written(tmp_path))
    assert case.options.flags == ("--fmad=false",)
    assert case.inputs.arrays[-1].uninitialised
    assert isinstance(case.inputs, Inputs)
    assert np.array_equal(run(case)["out"], (EXPECTED - I + 9).astype(np.float32))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"first", {', '"2nd", {', "arguments.rows.pointers.0"),
        ("element = 7", 'element = "many"', "arguments.inner.pointer.element: no size is called"),
        ("element = 7", "index = 7", "arguments.inner.pointer"),
        ('dtype = "int32", value = 2', "value = 2", "needs either dtype and value, or pointer"),
        ('"offset", dtype', '"stride", dtype', r"struct\.stride: is declared twice"),
        ("value = 3 ", "value = 40000 ", "values do not fit int16"),
        ("uninitialised = true", "uninitialised = false", "arguments.out.uninitialised"),
        ('name = "first"', 'name = "x"', "buffers.x: is declared twice"),
        ('["--fmad=false"]', '["--run"]', "flags: the compiler option --run is not covered"),
    ],
)
def test_mistakes_in_a_case_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CASE
    with pytest.raises(CaseError, match=message):
        read_case_file(written(tmp_path, CASE.replace(old, new, 1)))


def test_bfloat16_in_a_case_file(tmp_path: Path) -> None:
    text = CASE.replace('dtype = "float32"\nshape = [100]\narange = {}', 'dtype = "bfloat16"\nshape = [100]\narange = { start = 1, step = 0.00390625 }', 1)  # fmt: skip  # noqa: E501
    case = read_case_file(written(tmp_path, text))
    bits = case.inputs.buffers[0].data
    assert bits.dtype == np.uint16
    value = (bits.astype(np.uint32) << 16).view(np.float32)
    exact = 1 + np.arange(100) / 256
    # Seven bits behind the point: a tie at every odd multiple of 1/256 goes to the even one.
    assert np.array_equal(value, np.round(exact * 128) / 128)


def test_flags_reach_the_compiler() -> None:
    source = "__global__ void k(float *x) { x[0] = x[0] / x[1]; }"
    fast = make_case("k", source, [RAMP], grid=1, block=1, flags=["--use_fast_math"])
    plain = make_case("k", source, [RAMP], grid=1, block=1)
    ptx = [compile_kernel(c.source, "k.cu", "k", c.options).ptx for c in (fast, plain)]
    assert ["div.approx" in text for text in ptx] == [True, False]
    wrong = make_case("k", source, [RAMP], grid=1, block=1, flags=["--fmad=maybe"])
    with pytest.raises(CompileError):
        compile_kernel(source, "k.cu", "k", wrong.options)


def test_another_version_of_the_compiler(tmp_path: Path) -> None:
    case = read_case_file(written(tmp_path, CASE.replace("[sizes]", 'nvrtc = "12.9"\n[sizes]', 1)))
    assert case.options.nvrtc == "12.9"
    unknown = read_case_file(written(tmp_path, CASE.replace("[sizes]", 'nvrtc = "7"\n[sizes]', 1)))
    with pytest.raises(CaseError, match="7"):
        compile_kernel(unknown.source, unknown.filename, unknown.kernel, unknown.options)
