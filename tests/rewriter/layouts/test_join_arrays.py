"""Separate arrays that are joined compute the same bits, in every layout of the struct."""

import runpy

import numpy as np
import pytest

from placewise import PointerTo, Struct, make_case
from placewise.errors import CaseError, UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.view import find_struct_arrays
from placewise.kernel.view.separate_arrays import joinable, pointer_structs, separate_arrays
from placewise.rewriter.layouts import (
    cpp_conversion,
    numpy_conversion,
    original_arrays,
    rewrite_layout,
)
from placewise.rewriter.layouts.join_arrays import join_arrays, separated
from placewise.space.layout import parse_layout

N = 96
FORCES = """\
// Forces of listed neighbours.
__global__ void forces(const float *__restrict__ x, int n, const float *y, const double *m,
                       float *f, const int *near) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 4; k++) {
        int j = near[4 * i + k];
        sum += (x[j] - x[i]) * (float)m[near[4 * i + k]] + __ldg(&y[j]);
    }
    f[i] = sum + (y)[i];
}
"""


def case_of(source=FORCES, kernel="forces"):
    rng = np.random.default_rng(4)
    arguments = [
        rng.random(N, np.float32), np.int32(N), rng.random(N, np.float32), rng.random(N),
        np.zeros(N, np.float32), rng.integers(0, N, 4 * N, np.int32),
    ]  # fmt: skip
    return make_case(kernel, source, arguments, block=32, problem=N, flags=["--fmad=false"])


def joined_of(arrays, source=FORCES):
    read = read_case(case_of(source))
    return read, join_arrays(read.case, read.view, separate_arrays(read.case, read.view, arrays))


def outputs_of(case):
    return dict(execute(compile_case(case), case.launch, case.inputs).outputs)


@pytest.mark.parametrize("arrays", [("x", "y"), ("x", "y", "m", "f"), ("m", "y"), ("f", "x")])
def test_joined_arrays_compute_the_same_bits(arrays):
    read, joined = joined_of(arrays)
    found = separated(joined, outputs_of(joined.case))
    expected = outputs_of(read.case)
    assert set(found) == set(expected)
    for name, data in expected.items():
        assert found[name].tobytes() == data.tobytes(), name


@pytest.mark.parametrize("text", ["aos", "soa", "{x m}@16 {y} {f}", "aosoa:32", "{f y} {m}:8 {x}"])
def test_every_layout_of_what_was_joined_computes_the_same_bits(text):
    _, joined = joined_of(("x", "y", "m", "f"))
    read = read_case(joined.case)
    (structs,) = find_struct_arrays(read.case)
    assert structs.obstacle is None
    relaid = rewrite_layout(read.case, read.view, structs, parse_layout(text, structs.record))
    back = original_arrays(relaid, outputs_of(relaid.case))
    expected = outputs_of(read.case)
    dtype = next(a.data.dtype for a in read.case.inputs.arrays if a.name == joined.parameter)
    found = back[joined.parameter].view(dtype)
    for name in joined.fields:
        assert found[name].tobytes() == expected[joined.parameter].view(dtype)[name].tobytes()


@pytest.mark.parametrize("text", ["aos", "{x m}@16 {y}", "aosoa:32"])
def test_numpy_conversions_of_separate_arrays_there_and_back(text, tmp_path):
    before, joined = joined_of(("x", "y", "m"))
    read = read_case(joined.case)
    (structs,) = find_struct_arrays(read.case)
    relaid = rewrite_layout(read.case, read.view, structs, parse_layout(text, structs.record))
    script = tmp_path / "conversion.py"
    script.write_text(numpy_conversion(relaid, joined.fields))
    functions = runpy.run_path(str(script))
    apart = [a.data for a in before.case.inputs.arrays if a.name in joined.fields]
    groups = functions[f"to_{relaid.names.type_name}_from_arrays"](*apart)
    names = {relaid.names.parameter(joined.parameter, n) for n in range(len(groups))}
    given = [a.data for a in relaid.case.inputs.arrays if a.name in names]
    assert [g.tobytes() for g in groups] == [g.tobytes() for g in given]
    back = [np.zeros_like(a) for a in apart]
    functions[f"from_{relaid.names.type_name}_to_arrays"](*groups, *back)
    assert all((b == a).all() for a, b in zip(apart, back, strict=True))


@pytest.mark.parametrize("text", ["aos", "{x m}@16 {y}", "aosoa:32"])
def test_cpp_conversions_of_separate_arrays_there_and_back(text):
    """The C++ conversions run as a kernel of one thread."""
    before, joined = joined_of(("x", "y", "m"))
    read = read_case(joined.case)
    (structs,) = find_struct_arrays(read.case)
    relaid = rewrite_layout(read.case, read.view, structs, parse_layout(text, structs.record))
    conversion = cpp_conversion(relaid, joined.fields).replace("void ", "__device__ void ")
    name, above = relaid.names.type_name, relaid.case.source.split("// Forces")[0]
    groups = [a for a in relaid.case.inputs.arrays if a.name.startswith(joined.parameter)]
    declared = relaid.case.source.split("forces(")[1].split(", int n")[0].replace("const ", "")
    given = ", ".join(a.name for a in groups)
    source = (
        f"{above}{conversion}__global__ void convert(const float *x, const float *y, "
        f"const double *m, float *x2, float *y2, double *m2, {declared}, size_t n) {{\n"
        f"    to_{name}(x, y, m, {given}, n);\n    from_{name}(x2, y2, m2, {given}, n);\n}}\n"
    )
    apart = [a.data for a in before.case.inputs.arrays if a.name in joined.fields]
    arguments = [*apart, *map(np.zeros_like, apart), *(np.zeros_like(a.data) for a in groups)]
    case = make_case("convert", source, [*arguments, np.uint64(N)], block=1, grid=1)
    outputs = [data for _, data in execute(compile_case(case), case.launch, case.inputs).outputs]
    for found, expected in zip(outputs[3:], [*apart, *(a.data for a in groups)], strict=True):
        # Padding holds anything.
        for field in expected.dtype.names or (...,):
            typed = found.reshape(-1).view(np.uint8).view(expected.dtype)
            assert (typed[field] == expected.reshape(-1)[field]).all()


def test_the_text_by_hand():
    _, joined = joined_of(("x", "y", "m"))
    assert joined.case.source == (
        "struct Joined {\n    float x;\n    float y;\n    double m;\n};\n\n"
        + FORCES.replace(
            "const float *__restrict__ x, int n, const float *y, const double *m,\n",
            "const Joined *joined, int n,\n",
        )
        .replace("(x[j] - x[i])", "(joined[j].x - joined[i].x)")
        .replace("m[near[4 * i + k]]", "joined[near[4 * i + k]].m")
        .replace("&y[j]", "&joined[j].y")
        .replace("(y)[i]", "joined[i].y")
    )


def test_what_is_indexed_alike_is_proposed():
    read = read_case(case_of())
    # near has another length; f, x and y are indexed by i, and m by the text that j stands for.
    assert joinable(read.case, read.view) == (("x", "y", "f"),)


@pytest.mark.parametrize(
    ("arrays", "before", "after", "error", "why"),
    [
        (("x",), "", "", CaseError, "one array alone"),
        (("x", "near"), "", "", CaseError, "'x' has 96 elements and 'near' 384"),
        (("x", "n"), "", "", CaseError, "'n' is no array of numbers"),
        (("x", "z"), "", "", CaseError, "'z' is no array of numbers"),
        (
            ("x", "y"), "float sum = 0;", "float sum = 0; x += 1;",
            UnsupportedError, r"'x' is assigned, or compared with another pointer \(line 6\)",
        ),
        (
            ("x", "y"), "float sum = 0;", "const float *q = x; q = y; float sum = *q;",
            UnsupportedError, r"'y' is assigned, or compared with another pointer \(line 6\)",
        ),
        (
            ("x", "y"), "float sum = 0;", "const float2 *q = (const float2 *)y; float sum = q->x;",
            UnsupportedError, r"'y' is used in a way that is not known \(line 6\)",
        ),
        (
            ("x", "y"), "float sum = 0;", "float sum = twice(x) + twice(y);",
            UnsupportedError, r"'.' and '.' both become 'q' \(line 1\)",
        ),
        (
            ("x", "f"), "float sum = 0;", "float sum = twice(x) + twice(y);",
            UnsupportedError,
            r"'twice' gets something else as its 'q' in another call \(line 6\)",
        ),
        (
            ("x", "f"), "// Forces of listed neighbours.", "#define FIRST x[0]",
            UnsupportedError, r"'x' is accessed in a macro \(line 6\)",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(arrays, before, after, error, why):
    source = FORCES.replace(before, after) if before else FORCES
    if "FIRST" in source:
        source = source.replace("float sum = 0;", "float sum = FIRST;")
    if "twice" in source:
        source = "__device__ float twice(const float *q) { return 2 * *q; } " + source
    read = read_case(case_of(source))
    with pytest.raises(error, match=why):
        separate_arrays(read.case, read.view, arrays)


POINTERS = """\
__device__ float ahead(const float *q) { return *(q + 1) - *q; }
__device__ float at(const float *base, int k) { return (base)[k] + ahead(base); }
__device__ void put(float *to, float value) { to[0] = value; }
__device__ int count(const float *from, const float *end) { return (int)(end - from); }

__global__ void walk(const float *__restrict__ x, int n, const float *y, const double *m, float *f,
                     const int *near) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 2 >= n) return;
    const float *px = x + i;
    float a = *px + px[1] + __ldg(px + 1) + __ldg(&x[i + 1]);
    px += 2;
    a += *px--;
    auto py = &y[near[i]];
    for (const float *q = py - (near[i] > 0 ? 1 : 0); q != py; ++q) a += *q;
    const float *either = i & 1 ? px : x;
    a += at(x, i) + either[1] + count(x, px);
    atomicAdd(f + i, a);
    atomicAdd(&f[i], (float)m[i]);
    float *out = f;
    put(&out[i], out[i] * 2);
}
"""


@pytest.mark.parametrize("arrays", [("x", "y"), ("x", "y", "m", "f")])
@pytest.mark.parametrize("text", ["aos", "soa", "aosoa:32"])
def test_pointers_and_functions_that_get_them_are_followed(arrays, text):
    read = read_case(case_of(POINTERS, "walk"))
    joined = join_arrays(read.case, read.view, separate_arrays(read.case, read.view, arrays))
    together = read_case(joined.case)
    (structs,) = find_struct_arrays(together.case)
    assert structs.obstacle is None
    relaid = rewrite_layout(
        together.case, together.view, structs, parse_layout(text, structs.record)
    )
    back = original_arrays(relaid, outputs_of(relaid.case))[joined.parameter]
    dtype = next(a.data.dtype for a in joined.case.inputs.arrays if a.name == joined.parameter)
    found = outputs_of(relaid.case) | {n: back.view(dtype)[n] for n in joined.fields}
    for name, data in outputs_of(read.case).items():
        assert found[name].tobytes() == data.tobytes(), name


CLOUD = """\
struct Cloud { float *x, *y; const double *mass; int count; float *spare; };
__device__ float length(const Cloud &c, int i) { return c.x[i] * c.x[i] + c.y[i] * c.y[i]; }
__device__ void push(Cloud cloud, int i) {
    Cloud here = cloud;
    float *px = here.x + i;
    *px += (float)here.mass[i];
}
__global__ void attract(int shift, Cloud cloud, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= cloud.count) return;
    push(cloud, i);
    out[i] = length(cloud, i) + shift;
}
"""


def cloud_case(source=CLOUD, x="x", **buffers):
    rng = np.random.default_rng(6)
    given = {"x": rng.random(N, np.float32), "y": rng.random(N, np.float32), "mass": rng.random(N)}
    pointer = np.uintp
    dtype = np.dtype([("x", pointer), ("y", pointer), ("mass", pointer), ("count", "i4"),
                      ("spare", pointer)], align=True)  # fmt: skip
    members = {name: PointerTo(name) for name in given} | {"count": N, "spare": None}
    struct = Struct(dtype, members | {"x": PointerTo(x)})
    arguments = [np.int32(3), struct, np.zeros(N, np.float32)]
    return make_case(
        "attract", source, arguments, block=32, problem=N, flags=["--fmad=false"],
        buffers=given | buffers,
    )  # fmt: skip


@pytest.mark.parametrize("arrays", [("cloud",), ("cloud.y", "cloud.x")])
@pytest.mark.parametrize("text", ["aos", "soa", "aosoa:8"])
def test_a_struct_of_pointers_becomes_any_layout(arrays, text):
    read = read_case(cloud_case())
    found = separate_arrays(read.case, read.view, arrays)
    joined = join_arrays(read.case, read.view, found)
    assert joined.shown == tuple(f"cloud.{f}" for f in joined.fields)
    assert joined.fields == (("x", "y", "mass") if arrays == ("cloud",) else ("x", "y"))
    together = read_case(joined.case)
    (structs,) = find_struct_arrays(together.case)
    layout = parse_layout(text, structs.record)
    relaid = rewrite_layout(together.case, together.view, structs, layout)
    back = original_arrays(relaid, outputs_of(relaid.case))[joined.parameter]
    dtype = next(a.data.dtype for a in joined.case.inputs.arrays if a.name == joined.parameter)
    # By NumPy, from the kernel's meaning.
    start = {b.name: b.data for b in cloud_case().inputs.buffers}
    x = start["x"] + start["mass"].astype(np.float32)
    assert (back.view(dtype)["x"] == x).all()
    assert (back.view(dtype)["y"] == start["y"]).all()
    assert (outputs_of(relaid.case)["out"] == x * x + start["y"] * start["y"] + 3).all()


def test_the_struct_of_pointers_keeps_what_is_not_joined():
    read = read_case(cloud_case())
    found = separate_arrays(read.case, read.view, ("cloud",))
    joined = join_arrays(read.case, read.view, found)
    source = joined.case.source
    assert "attract(int shift, Cloud cloud, Joined *joined, float *out)" in source
    assert "length(const Cloud &c, Joined *joined, int i)" in source
    assert "push(cloud, joined, i);" in source
    assert "Joined *px = joined + i;\n    px->x += (float)joined[i].mass;" in source
    assert joined.case.inputs.buffers == ()
    (holder,) = (a for a in joined.case.inputs.arguments if a.name == "cloud")
    assert holder.pointers == ()
    assert pointer_structs(read.case) == ("cloud",)
    assert pointer_structs(joined.case) == ()


@pytest.mark.parametrize(
    ("arrays", "before", "after", "error", "why"),
    [
        (("cloud.count", "cloud.x"), "", "", CaseError, "'cloud.count' is no pointer to an array"),
        (("cloud.x", "out"), "", "", CaseError, "only members of one struct"),
        (("cloud.x",), "", "", CaseError, "fewer than two pointers of 'cloud'"),
        (
            ("cloud",), "push(cloud, i);", "push(cloud, i); cloud.x++;",
            UnsupportedError, r"'x' is used in a way that is not known \(line 11\)",
        ),
        (
            ("cloud",), "push(cloud, i);", "push(cloud, i); Cloud *q = &cloud;",
            UnsupportedError, r"'cloud' is used as a whole \(line 11\)",
        ),
        (
            ("cloud",), "push(cloud, i);", "push(cloud, i); Cloud n{}; length(n, i);",
            UnsupportedError, r"'length' gets something else as its 'c' in another call",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_of_a_struct_is_refused(arrays, before, after, error, why):
    read = read_case(cloud_case(CLOUD.replace(before, after) if before else CLOUD))
    with pytest.raises(error, match=why):
        separate_arrays(read.case, read.view, arrays)


def test_members_need_buffers_of_their_own_and_of_one_length():
    read = read_case(cloud_case(x="y"))
    with pytest.raises(CaseError, match=r"'cloud\.x' does not lead to the start of a buffer"):
        separate_arrays(read.case, read.view, ("cloud",))
    read = read_case(cloud_case(mass=np.zeros(2 * N)))
    with pytest.raises(CaseError, match=r"'cloud\.x' has 96 elements and 'cloud\.mass' 192"):
        separate_arrays(read.case, read.view, ("cloud",))
