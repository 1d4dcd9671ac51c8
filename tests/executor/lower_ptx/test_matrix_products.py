"""mma.sync, ldmatrix, stmatrix, movmatrix and wmma on whole tiles, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import run
from ptx_harness import kernel_from

from placewise.executor import execute
from placewise.kernel.launch import ArrayArgument, Inputs, Launch

RNG = np.random.default_rng(5)


def bf16_bits(values):
    """Round to nearest even."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def e4m3(bits):
    """Values of FP8 E4M3 patterns, from the definition in the OCP 8-bit specification."""
    out = np.zeros(bits.shape)
    for at, b in np.ndenumerate(bits):
        exponent, mantissa = int(b) >> 3 & 15, int(b) & 7
        size = (
            mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        )
        out[at] = -size if b >> 7 else size
    return out


def e5m2(bits):
    return (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float64)


def packed(values, bits):
    """(…, n) small integers as 32-bit words, the first in the low bits."""
    per = 32 // bits
    grouped = values.reshape(*values.shape[:-1], -1, per).astype(np.uint64) & ((1 << bits) - 1)
    shifts = np.arange(per, dtype=np.uint64) * np.uint64(bits)
    return (grouped << shifts).sum(-1).astype(np.uint32)


class Type:
    """How to draw elements of a type, their exact values and their patterns along k."""

    def __init__(self, bits, draw, value, pattern):
        self.bits, self.draw, self.value, self.pattern = bits, draw, value, pattern


def _halves(shape):
    return RNG.standard_normal(shape).astype(np.float16)


def _bytes(shape):
    return RNG.integers(0, 256, shape).astype(np.uint8)


def _finite_e4m3(shape):
    drawn = _bytes(shape)
    return np.where(drawn & 0x7F == 0x7F, 0, drawn).astype(np.uint8)


def _finite_e5m2(shape):
    drawn = _bytes(shape)
    return np.where(drawn & 0x7C == 0x7C, 1, drawn & 0xBF).astype(np.uint8)


def _signed(bits):
    return lambda shape: RNG.integers(-(1 << (bits - 1)), 1 << (bits - 1), shape)


def _unsigned(bits):
    return lambda shape: RNG.integers(0, 1 << bits, shape)


def same(x):
    return x


TYPES = {
    "f16": Type(16, _halves, same, lambda x: packed(x.view(np.uint16), 16)),
    "bf16": Type(
        16, lambda s: bf16_bits(RNG.standard_normal(s)), from_bf16, lambda x: packed(x, 16)
    ),
    "tf32": Type(
        32,
        lambda s: RNG.standard_normal(s).astype(np.float32),
        lambda x: (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32),
        lambda x: x.view(np.uint32),
    ),
    "f64": Type(64, lambda s: RNG.standard_normal(s), same, lambda x: x.view(np.uint64)),
    "e4m3": Type(8, _finite_e4m3, e4m3, lambda x: packed(x, 8)),
    "e5m2": Type(8, _finite_e5m2, e5m2, lambda x: packed(x, 8)),
    **{
        f"{'s' if sign is _signed else 'u'}{b}": Type(b, sign(b), same, lambda x, b=b: packed(x, b))
        for sign in (_signed, _unsigned)
        for b in (8, 4)
    },
    "b1": Type(1, _unsigned(1), same, lambda x: packed(x, 1)),
}
INTEGRAL = ("s8", "u8", "s4", "u4", "b1")


def fragment_a(words, m):
    """Registers of each lane: ``words`` (m, k words); PTX ISA, matrix fragments of mma.m16n8k*."""
    registers = []
    for part in range(words.shape[1] // 4):
        for half in range(m // 8):
            registers.append(
                [words[8 * half + lane // 4, 4 * part + lane % 4] for lane in range(32)]
            )
    return np.array(registers)


def fragment_b(words):
    """``words`` (8, k words), a row for each column of B."""
    return np.array(
        [
            [words[lane // 4, 4 * part + lane % 4] for lane in range(32)]
            for part in range(words.shape[1] // 4)
        ]
    )


def places_c(m):
    """(row, column) of each element of C by element and lane."""
    return [
        [(8 * half + lane // 4, 2 * (lane % 4) + e) for lane in range(32)]
        for half in range(m // 8)
        for e in (0, 1)
    ]


def multiply(opcode, fragments, result_count, accumulator):
    """Run one mma.sync; registers by lane."""
    lines = [
        ".version 8.8\n.target sm_120\n.address_size 64\n.visible .entry k(",
        ",\n".join(f".param .u64 p{n}" for n in range(4)),
        ")\n{\n.reg .b64 %at, %lane;\n.reg .b32 %tid;",
        "mov.u32 %tid, %tid.x;\ncvt.u64.u32 %lane, %tid;",
    ]
    names = []
    for n, fragment in enumerate(fragments):
        bits = fragment.dtype.itemsize * 8
        lines.append(f"ld.param.u64 %at, [p{n}];\nmad.lo.u64 %at, %lane, {bits // 8}, %at;")
        group = []
        for r in range(len(fragment)):
            lines.append(f".reg .b{bits} %f{n}_{r};")
            lines.append(f"ld.global.b{bits} %f{n}_{r}, [%at+{r * 32 * bits // 8}];")
            group.append(f"%f{n}_{r}")
        names.append("{" + ", ".join(group) + "}")
    bits = np.dtype(accumulator).itemsize * 8
    results = [f"%d{r}" for r in range(result_count)]
    lines += [f".reg .b{bits} {d};" for d in results]
    lines.append(f"{opcode} {{{', '.join(results)}}}, {', '.join(names)};")
    lines.append(f"ld.param.u64 %at, [p3];\nmad.lo.u64 %at, %lane, {bits // 8}, %at;")
    lines += [f"st.global.b{bits} [%at+{r * 32 * bits // 8}], {d};" for r, d in enumerate(results)]
    out = np.zeros((result_count, 32), accumulator)
    arguments = [ArrayArgument(f"f{n}", f) for n, f in enumerate(fragments)]
    arguments.append(ArrayArgument("out", out))
    kernel = kernel_from("\n".join([*lines, "ret;\n}"]))
    return execute(kernel, Launch((1, 1, 1), (32, 1, 1)), Inputs(tuple(arguments))).output("out")


CASES = [
    *((s, a, b, c) for s in ("m16n8k8", "m16n8k16") for a, b, c in (("f16", "f16", "f32"),)),
    *((s, "f16", "f16", "f16") for s in ("m16n8k8", "m16n8k16")),
    *((s, "bf16", "bf16", "f32") for s in ("m16n8k8", "m16n8k16")),
    *((s, "tf32", "tf32", "f32") for s in ("m16n8k4", "m16n8k8")),
    *((s, "f64", "f64", "f64") for s in ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16")),
    *((s, "s8", "u8", "s32") for s in ("m8n8k16", "m16n8k16", "m16n8k32")),
    *((s, "u4", "s4", "s32") for s in ("m8n8k32", "m16n8k32", "m16n8k64")),
    ("m16n8k32", "s8", "s8", "s32"),
    ("m16n8k64", "u4", "u4", "s32"),
    *((s, "b1", "b1", "s32") for s in ("m8n8k128", "m16n8k128", "m16n8k256")),
    ("m16n8k32", "e4m3", "e5m2", "f32"),
    ("m16n8k32", "e5m2", "e4m3", "f16"),
    ("m16n8k16", "e4m3", "e4m3", "f32"),
]


def exact_product(a, b, operation):
    if operation:
        combined = a[:, None, :] & b[None] if operation == "and" else a[:, None, :] ^ b[None]
        return combined.sum(-1)
    return a @ b.T


@pytest.mark.parametrize("case", CASES, ids=".".join)
def test_products_of_tiles(case):
    shape, a_type, b_type, c_type = case
    m, rest = shape[1:].split("n")
    m, k = int(m), int(rest.split("k")[1])
    a, b = TYPES[a_type].draw((m, k)), TYPES[b_type].draw((8, k))
    x, y = (np.asarray(TYPES[t].value(v)) for t, v in ((a_type, a), (b_type, b)))
    integral = a_type in INTEGRAL
    x, y = (v.astype(np.int64 if integral else np.float64) for v in (x, y))
    accumulator = {"f32": np.float32, "f64": np.float64, "s32": np.int32, "f16": np.float16}[c_type]
    if integral:
        c = RNG.integers(-(2**31), 2**31, (m, 8)).astype(np.int32)
    else:
        c = RNG.standard_normal((m, 8)).astype(accumulator)
    places = places_c(m)
    fragment_c = np.array([[c[p] for p in row] for row in places])
    if c_type == "f16":
        fragment_c = packed(
            np.ascontiguousarray(fragment_c.view(np.uint16).reshape(-1, 2, 32).transpose(0, 2, 1)),
            16,
        )[..., 0]
    fragments = [
        fragment_a(TYPES[a_type].pattern(a), m),
        fragment_b(TYPES[b_type].pattern(b)),
        fragment_c,
    ]
    for variant in ("xor", "and") if a_type == "b1" else ("",):
        kind = "kind::f8f6f4." if a_type[0] == "e" and c_type == "f16" else ""
        opcode = f"mma.sync.aligned.{kind}{shape}.row.col.{c_type}.{a_type}.{b_type}.{c_type}"
        opcode += f".{variant}.popc" if variant else ""
        raw = np.uint32 if c_type == "f16" else accumulator
        found = multiply(opcode, fragments, len(fragment_c), raw)
        if c_type == "f16":
            found = np.stack([found & 0xFFFF, found >> 16], 1).astype(np.uint16).reshape(-1, 32)
            found = found.view(np.float16)
        tile = np.zeros((m, 8), accumulator)
        for row, values in zip(places, found, strict=True):
            for place, value in zip(row, values, strict=True):
                tile[place] = value
        exact = exact_product(x, y, variant) + c.astype(x.dtype)
        if integral:
            np.testing.assert_array_equal(
                tile, exact.astype(np.uint64).astype(np.uint32).view(np.int32)
            )
        else:
            # k roundings, each of at most half a unit of the largest partial sum.
            scale = np.abs(x) @ np.abs(y.T) + np.abs(c)
            eps = np.finfo(np.float64 if c_type == "f64" else np.float32).eps
            slack = k * eps * scale
            if c_type == "f16":
                slack = slack + np.abs(exact) * np.finfo(np.float16).eps / 2
            assert (np.abs(tile.astype(np.float64) - exact) <= slack).all()


def test_saturating_integer_products():
    a, b = np.full((16, 32), 127), np.full((8, 32), 127)
    c = np.full((4, 32), 2**31 - 1000, np.int32)
    fragments = [fragment_a(packed(a, 8), 16), fragment_b(packed(b, 8)), c]
    opcode = "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32"
    assert (multiply(opcode, fragments, 4, np.int32) == 2**31 - 1).all()
    opcode = opcode.replace(".satfinite", "")
    wrapped = (2**31 - 1000 + 32 * 127 * 127) - 2**32
    assert (multiply(opcode, fragments, 4, np.int32) == wrapped).all()


MOVES = """
extern "C" __global__ void k(unsigned* out, unsigned short* back, const unsigned short* in) {
    __shared__ __align__(16) unsigned short rows[32 * 24], target[32 * 24];
    int t = threadIdx.x;
    for (int e = 0; e < 8; ++e) rows[t * 24 + e] = in[t * 8 + e];
    for (int e = 0; e < 24; ++e) target[t * 24 + e] = 0xffff;
    __syncthreads();
    unsigned from = __cvta_generic_to_shared(rows + (t % (8 * COUNT)) * 24);
    unsigned to = __cvta_generic_to_shared(target + (t % (8 * COUNT)) * 24);
    unsigned r0 = 0, r1 = 0, r2 = 0, r3 = 0;
#if COUNT == 1
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 {%0}, [%1];"
                 : "=r"(r0) : "r"(from));
    asm volatile("stmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 [%0], {%1};"
                 :: "r"(to), "r"(r0) : "memory");
#elif COUNT == 2
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0, %1}, [%2];"
                 : "=r"(r0), "=r"(r1) : "r"(from));
    asm volatile("stmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 [%0], {%1, %2};"
                 :: "r"(to), "r"(r0), "r"(r1) : "memory");
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(from));
    asm volatile("stmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(to), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
#endif
    out[t] = r0; out[32 + t] = r1; out[64 + t] = r2; out[96 + t] = r3;
    unsigned moved;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(moved) : "r"(r0));
    out[128 + t] = moved;
    __syncthreads();
    for (int e = 0; e < 8; ++e) back[t * 8 + e] = target[t * 24 + e];
}"""


@pytest.mark.parametrize("machine_code", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_move_between_rows_and_fragments(count, transposed, machine_code):
    source = f'#define COUNT {count}\n#define TRANS "{".trans" if transposed else ""}"\n' + MOVES
    matrices = RNG.integers(0, 1 << 16, (4, 8, 8)).astype(np.uint16)
    result = run(
        source, "k", 1, 32, arch="sm_90", machine_code=machine_code,
        out=np.zeros((5, 32), np.uint32), back=np.zeros((4, 8, 8), np.uint16), in_=matrices,
    )  # fmt: skip
    expected = matrices.transpose(0, 2, 1) if transposed else matrices
    # A lane holds two neighbours of a row: 32 pairs by rows.
    pairs = packed(expected, 16).reshape(4, 32)
    np.testing.assert_array_equal(result.output("out")[:count], pairs[:count])
    np.testing.assert_array_equal(
        result.output("out")[4], packed(np.ascontiguousarray(expected[0].T), 16).ravel()
    )
    np.testing.assert_array_equal(result.output("back")[:count], matrices[:count])
    assert (result.output("back")[count:] == 0xFFFF).all()


WMMA = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void k(ACC_T* d, const IN_T* a, const IN_T* b, const ACC_T* c,
                             int lda, int ldb, int ldc) {
    wmma::fragment<wmma::matrix_a, M, N, K, TYPE, wmma::A_MAJOR> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, TYPE, wmma::B_MAJOR> fb;
    wmma::fragment<wmma::accumulator, M, N, K, ACC_T> fc;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, wmma::MEM);
    for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = fa.x[i] + fa.x[i];
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
    wmma::store_matrix_sync(d, fc, ldc, wmma::MEM);
}"""
WMMA_TYPES = {
    "half": ("half", "half", "float", np.float16, np.float32),
    "half_half": ("half", "half", "half", np.float16, np.float16),
    "bfloat16": ("__nv_bfloat16", "__nv_bfloat16", "float", np.uint16, np.float32),
    "tf32": ("wmma::precision::tf32", "float", "float", np.float32, np.float32),
    "double": ("double", "double", "double", np.float64, np.float64),
    "schar": ("signed char", "signed char", "int", np.int8, np.int32),
    "uchar": ("unsigned char", "unsigned char", "int", np.uint8, np.int32),
}
WMMA_SHAPES = {"tf32": [(16, 16, 8)], "double": [(8, 8, 4)]}


slow = pytest.mark.slow
WMMA_MAJORS = ("row_col", "col_row", "row_row", "col_col")
FAST = {("half", "col_row"), ("half_half", "row_col"), ("schar", "col_col"), ("tf32", "row_row")}


@pytest.mark.parametrize(
    ("name", "majors"),
    [
        pytest.param(name, majors, marks=() if (name, majors) in FAST else slow)
        for name in WMMA_TYPES
        for majors in WMMA_MAJORS
    ],
)
def test_wmma_multiplies_tiles(name, majors):
    type_, in_t, acc_t, in_dtype, acc_dtype = WMMA_TYPES[name]
    a_major, b_major = majors.split("_")
    for m, n, k in WMMA_SHAPES.get(name, [(16, 16, 16), (32, 8, 16), (8, 32, 16)]):
        c_major = a_major
        source = (
            f"#define M {m}\n#define N {n}\n#define K {k}\n#define TYPE {type_}\n"
            f"#define IN_T {in_t}\n#define ACC_T {acc_t}\n#define A_MAJOR {a_major}_major\n"
            f"#define B_MAJOR {b_major}_major\n#define MEM mem_{c_major}_major\n" + WMMA
        )
        integral = np.dtype(in_dtype).kind in "iu" and name != "bfloat16"
        if integral:
            info = np.iinfo(in_dtype)
            a, b = (RNG.integers(info.min // 2, info.max // 2, s) for s in ((m, k), (k, n)))
        else:
            # Small multiples of 1/4 are exact in every type, sums of their products too.
            a, b = (RNG.integers(-8, 9, s) / 4 for s in ((m, k), (k, n)))
        c = RNG.integers(-20, 21, (m, n))

        def stored(matrix, major, dtype):
            values = matrix if major == "row" else matrix.T
            pitch = values.shape[1] + 16
            room = np.zeros((values.shape[0], pitch), dtype)
            room[:, : values.shape[1]] = (
                bf16_bits(values) if name == "bfloat16" and dtype == np.uint16 else values
            )
            return room, pitch

        (am, lda), (bm, ldb) = stored(a, a_major, in_dtype), stored(b, b_major, in_dtype)
        cm, ldc = stored(c, c_major, acc_dtype)
        result = run(
            source, "k", 1, 32, d=np.zeros_like(cm), a=am, b=bm, c=cm,
            lda=np.int32(lda), ldb=np.int32(ldb), ldc=np.int32(ldc),
        )  # fmt: skip
        found = result.output("d")[:, : n if c_major == "row" else m]
        found = found if c_major == "row" else found.T
        np.testing.assert_array_equal(found, 2 * (2 * a @ b + c))
