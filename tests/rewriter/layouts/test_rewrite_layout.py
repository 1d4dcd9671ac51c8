"""Kernels over arrays of structs compute the same bits in every layout; what cannot is refused."""

import runpy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placewise import make_case
from placewise.errors import UnsupportedError
from placewise.executor import execute
from placewise.kernel.cases.prepare_case import compile_case, read_case
from placewise.kernel.view import find_struct_arrays
from placewise.rewriter.layouts import (
    cpp_conversion,
    numpy_conversion,
    original_arrays,
    rewrite_layout,
)
from placewise.space.layout import Group, Layout, parse_layout

PARTICLE = "struct Particle { float x, y; double mass; float v[3]; int id; };\n"
DTYPE = np.dtype(
    [("x", "f4"), ("y", "f4"), ("mass", "f8"), ("v", "f4", 3), ("id", "i4")], align=True
)
N = 100
EVERY_USE = (
    PARTICLE
    + """
__device__ float norm(const Particle &a) { return a.x * a.x + a.y * a.y; }
__device__ void kick(Particle *q, float dt) { q->v[0] += dt; (*q).v[1] += dt; q[0].y -= dt; }
__device__ void drift(Particle &r, float dt) { r.x += r.v[0] * dt; }
// Uses an element in every way that is rewritten.
__global__ void every_use(Particle *p, const Particle *__restrict__ old, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    p[i].x += p[i].v[2] * 0.5f;
    Particle q = old[i];
    Particle &r = p[i];
    r.y += r.v[1];
    const Particle *t = old + i;
    p[i].mass = t->mass * (*t).v[0];
    kick(&p[i], 0.25f);
    kick(p + i, 0.125f);
    drift(p[i], 0.5f);
    out[i] = norm(p[i]) + norm(q);
    atomicAdd(&p[(i + 1) % n].v[2], 1.0f);
    if (q.id > n / 2) p[i] = q;
    auto whole = p[i];
    for (const Particle *s = old; s != old + 3; ++s) out[i] += s->x * old[old[i].id].y;
    const Particle *last = &old[n - 1];
    out[i] += whole.x + (last - old) + last[-1].y;
    Particle *walk = p + i;
    walk += 0;
    (walk++)->id = 7;
}
"""
)


def particles(seed):
    rng = np.random.default_rng(seed)
    made = np.zeros(N, DTYPE)
    for name in ("x", "y", "mass", "v"):
        made[name] = rng.normal(size=made[name].shape)
    made["id"] = rng.integers(0, N, N)
    return made


def case_of(source, kernel, *, arrays=2):
    given_arrays = [particles(n) for n in range(arrays)]
    arguments = [*given_arrays, np.zeros(N, np.float32), np.int32(N)]
    # Without contraction, so that all forms round alike.
    return make_case(kernel, source, arguments, block=32, problem=N, flags=["--fmad=false"])


def relaid_of(source, kernel, text, *, arrays=2):
    read = read_case(case_of(source, kernel, arrays=arrays))
    (structs,) = find_struct_arrays(read.case)
    return read, rewrite_layout(read.case, read.view, structs, parse_layout(text, structs.record))


def assert_same_bits(read, relaid):
    truth = execute(read.kernel, read.case.launch, read.case.inputs)
    run = execute(compile_case(relaid.case), relaid.case.launch, relaid.case.inputs)
    outputs = dict(run.outputs)
    back = original_arrays(relaid, outputs)
    for name, expected in truth.outputs:
        found = back[name].view(DTYPE) if name in back else outputs[name]
        if found.dtype.names is None:
            assert found.tobytes() == expected.tobytes()
            continue
        for field in found.dtype.names:
            assert found[field].tobytes() == expected.reshape(-1)[field].tobytes(), (name, field)


@pytest.mark.parametrize(
    "text",
    ["soa", "aosoa:32", "{x y id v}@16 {mass}", "{mass x}@16 {v id}:4 {y}", "{x y mass v id}@16"],
)
def test_every_use_of_an_element_computes_the_same_bits(text):
    assert_same_bits(*relaid_of(EVERY_USE, "every_use", text))


@given(st.data())
@settings(deadline=None, max_examples=12)
def test_random_layouts_compute_the_same_bits(data):
    order = data.draw(st.permutations(DTYPE.names))
    cuts = data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    parts = [[]]
    for name, cut in zip(order, cuts, strict=True):
        if cut and parts[-1]:
            parts.append([])
        parts[-1].append(name)
    groups = tuple(
        Group(
            tuple(part), data.draw(st.sampled_from([1, 8, 16])), data.draw(st.sampled_from([1, 8]))
        )
        for part in parts
    )
    assert_same_bits(*relaid_of(EVERY_USE, "every_use", Layout(groups).describe()))


def test_vector_types_and_load_functions():
    source = """__global__ void gather(const float4 *p, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float4 a = __ldg(&p[(i * 7) % n]), b = p[i];
        out[i] = a.x * b.w + __ldg(p + i).y + p[i].z;
    }"""
    rng = np.random.default_rng(3)
    data = rng.normal(size=(N, 4)).astype(np.float32)
    arguments = [data, np.zeros(N, np.float32), np.int32(N)]
    read = read_case(make_case("gather", source, arguments, block=32, problem=N))
    (structs,) = find_struct_arrays(read.case)
    assert structs.record.names == ("x", "y", "z", "w")
    for text in ("soa", "{x w}@8 {y z}@8", "aosoa:8"):
        relaid = rewrite_layout(read.case, read.view, structs, parse_layout(text, structs.record))
        truth = execute(read.kernel, read.case.launch, read.case.inputs)
        run = execute(compile_case(relaid.case), relaid.case.launch, relaid.case.inputs)
        assert run.output("out").tobytes() == truth.output("out").tobytes()


def test_the_kernel_stays_readable():
    _, relaid = relaid_of(EVERY_USE, "every_use", "soa")
    text = relaid.case.source
    assert "p.x(i) += p.v(i)[2] * 0.5f;" in text
    assert "Particle q = old.load(i);" in text
    assert "p.store(i, q);" in text
    assert "// Uses an element in every way that is rewritten.\n__global__" in text


def test_lines_keep_their_ends():
    _, relaid = relaid_of(EVERY_USE.replace("\n", "\r\n"), "every_use", "soa")
    assert relaid.case.source.count("\n") == relaid.case.source.count("\r\n")


@pytest.mark.parametrize(
    "text", ["soa", "aosoa:32", "{x y}@8 {mass v} {id}", "{v}:8 {x y mass id}"]
)
def test_numpy_conversions_there_and_back(text, tmp_path):
    read, relaid = relaid_of(EVERY_USE, "every_use", text)
    script = tmp_path / "conversion.py"
    script.write_text(numpy_conversion(relaid))
    functions = runpy.run_path(str(script))
    elements = next(a.data for a in read.case.inputs.arrays if a.name == "p")
    groups = functions[f"to_{relaid.names.type_name}"](elements)
    given_groups = [a.data for a in relaid.case.inputs.arrays if a.name.startswith("p_")]
    assert [g.tobytes() for g in groups] == [g.tobytes() for g in given_groups]
    back = functions[f"from_{relaid.names.type_name}"](*groups, np.zeros_like(elements))
    assert all((back[name] == elements[name]).all() for name in DTYPE.names)


@pytest.mark.parametrize("text", ["soa", "{x y}@8 {mass v}:4 {id}", "aosoa:32"])
def test_cpp_conversions_there_and_back(text):
    """The C++ conversions run as a kernel of one thread."""
    read, relaid = relaid_of(EVERY_USE, "every_use", text)
    conversion = cpp_conversion(relaid).replace("void to_", "__device__ void to_")
    conversion = conversion.replace("void from_", "__device__ void from_")
    kernel_at = relaid.case.source.index("__device__ void kick")
    groups = [a for a in relaid.case.inputs.arrays if a.name.startswith("p_")]
    declared = relaid.case.source.split("every_use(")[1].split(", const")[0]
    names = ", ".join(a.name for a in groups)
    name = relaid.names.type_name
    source = (
        relaid.case.source[:kernel_at]
        + conversion
        + f"__global__ void convert(Particle *a, Particle *b, {declared}, size_t n) {{\n"
        f"    to_{name}(a, {names}, n);\n    from_{name}(b, {names}, n);\n}}\n"
    )
    elements = next(a.data for a in read.case.inputs.arrays if a.name == "p")
    arguments = [elements, np.zeros_like(elements), *(np.zeros_like(a.data) for a in groups)]
    case = make_case("convert", source, [*arguments, np.uint64(N)], block=1, grid=1)
    run = execute(compile_case(case), case.launch, case.inputs)
    outputs = [data for _, data in run.outputs]
    back = outputs[1].view(DTYPE).reshape(-1)
    assert all((back[field] == elements[field]).all() for field in DTYPE.names)
    for found, expected in zip(outputs[2:], groups, strict=True):
        assert found.tobytes() == expected.data.tobytes()


NAMED_TWICE = PARTICLE.replace("struct Particle {", "typedef struct {").replace(
    "};", "} Body;\nusing Particle = Body;"
)


def test_structs_of_two_names_compute_the_same_bits():
    """``typedef struct {…} Body`` has no name of its own; the kernel and a function use both."""
    source = (
        NAMED_TWICE
        + """
__device__ void kick(Body *q, float dt) { q->v[0] += dt; atomicAdd(&q->v[1], dt); }
__global__ void both(Particle *p, const Body *old, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body q = old[i];
    kick(p + i, 0.5f);
    out[i] = q.x + __ldg(&old[i].y) + *(&p[i].x);
    p[i].id = atomicExch(&p[i].id, 3) + 1;
}
"""
    )
    assert_same_bits(*relaid_of(source, "both", "{x id} {y mass} {v}"))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("union U { float x; int id; };\n__global__ void k(U *p) { p[0].x = 1; }", "is a union"),
        ("struct U { int x : 3; };\n__global__ void k(U *p) { p[0].x = 1; }", "bit-field, 'x'"),
        (
            "struct U { float x; __device__ virtual void f() {} };\n"
            "__global__ void k(U *p) { p[0].x = 1; }",
            "virtual functions (line 1)",
        ),
        (
            "struct B { float b; };\nstruct U : B { float x; };\n"
            "__global__ void k(U *p) { p[0].x = 1; }",
            "base class (line 2)",
        ),
        (
            "struct U { float x; __device__ float f() { return x; } };\n"
            "__global__ void k(U *p) { p[0].x = p[1].f(); }",
            "called on an element (line 2)",
        ),
        (
            "struct U { float x, y; };\n"
            "__global__ void k(U *p) { float *q = (float *)p; q[0] = 1; }",
            "'(float *)p' (line 2)",
        ),
        (
            "struct U { union { float x; int id; }; float y; };\n"
            "__global__ void k(U *p) { p[0].x = 1; }",
            "a union in it (line 1)",
        ),
        (
            "struct U { float x, y; };\n"
            "__global__ void k(U *p) { float *q = &p[0].x; q[1] = 1; }",
            "the address of field 'x' is handed on (line 2)",
        ),
        (
            "struct U { float x, y; };\n__device__ void set(float *q) { q[1] = 1; }\n"
            "__global__ void k(U *p) { set(&(p->x)); }",
            "the address of field 'x' is handed on (line 3)",
        ),
        (
            "struct U { float x, y; };\n__device__ float *kept;\n"
            "__global__ void k(U *p) { kept = &p[0].y; }",
            "the address of field 'y' is handed on (line 3)",
        ),
        (
            "struct U { float x, y; };\n__device__ U &second(U *q) { return q[1]; }\n"
            "__global__ void k(U *p) { second(p).x = 1; }",
            "returned by reference (line 2)",
        ),
        (
            "struct U { float x, y; };\nstruct OfHost { float x, y; };\n"
            "__global__ void k(U *p) { OfHost *q = (OfHost *)p; q->x = 1; }",
            "'(OfHost *)p' (line 3)",
        ),
        (
            "struct U { float x, y; };\nstruct OfHost { float x, y; };\n"
            "__global__ void k(U *p) { reinterpret_cast<OfHost &>(p[1]).x = 1; }",
            "'reinterpret_cast<OfHost &>(p[1])' (line 3)",
        ),
        (
            "struct U { float x, y; };\n__global__ void k(U *p) {\n memcpy(p, p + 1, 8); }",
            "(line 3)",
        ),
        (
            "struct U { float x, y; };\n__device__ U *kept;\n"
            "__global__ void k(U *p) { kept = p; kept[0].x = 1; }",
            "(line 3)",
        ),
        (
            "struct U { float x, y; };\n__device__ void set(U *q) { q->x = 1; }\n"
            "__global__ void k(U *p) { U local; set(&local); set(p); p[1] = local; }",
            "'set' gets something else",
        ),
        (
            "struct U { float x, y; };\n__device__ U *next(U *q) { return q + 1; }\n"
            "__global__ void k(U *p) { next(p)->x = 1; }",
            "(line 2)",
        ),
        (
            "struct U { float x, y; };\n"
            "__global__ void k(U *p) { U *a = p, *b = p + 1; a->x = b->y; }",
            "'a' shares its declaration (line 2)",
        ),
        (
            "struct U { float x, y; };\n#define FIRST p[0].x\n"
            "__global__ void k(U *p) { FIRST = 1; }",
            "macro (line 3)",
        ),
        (
            "struct U { float x, y; };\ntemplate <typename T> __global__ void k(T *p)\n"
            "{ p[0].x = 1; }",
            "the type of 'p' is the template's (line 2)",
        ),
        (
            "struct U { float x, y; };\n__global__ void k(U *p);\n"
            "__global__ void k(U *p) { p[0].x = 1; }",
            "declared again (line 2)",
        ),
        (
            "struct U { float x, y; };\n__global__ void k(U *p) { p[0].x = sizeof(p[0]); }",
            "'sizeof(p[0])' (line 2)",
        ),
        (
            "struct U { float x, y; };\n__global__ void k(U *p) { auto f = [&] { return p; };"
            " f()->x = 1; }",
            "(line 2)",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_rewritten_is_refused_with_its_line(source, why):
    kernel = "k<U>" if "template" in source else "k"
    case = make_case(kernel, source, [np.zeros(64, np.float32)], block=1, grid=1)
    read = read_case(case)
    (structs,) = find_struct_arrays(read.case)
    with pytest.raises(UnsupportedError) as error:
        rewrite_layout(read.case, read.view, structs, structs.record.declared)
    assert why in error.value.message
    assert "line" in error.value.message
