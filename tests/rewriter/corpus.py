"""Kernels as users write them, each with a small launch and, by hand, where its arrays can go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import make_case

ALL = "readonly texture constant shared"


@dataclass(frozen=True)
class Sample:
    """A kernel and the spaces that each of its arrays can move to."""

    make: Callable[[], Case]
    reachable: dict[str, str]


def floats(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def ints(high, *shape, seed=2):
    return np.random.default_rng(seed).integers(0, high, shape, dtype=np.int32)


SPMV = """
__global__ void spmv(const int* __restrict__ ptr, const int* __restrict__ col,
                     const float* __restrict__ val, const float* __restrict__ x,
                     float* __restrict__ y, int rows)
{
    int row  = (blockIdx.x * blockDim.x + threadIdx.x) / 32;   // one warp per row of val
    int lane = threadIdx.x & 31;
    if (row >= rows)
        return;
    float sum = 0.f;
    for (int j = ptr[row] + lane; j < ptr[row + 1]; j += 32)
        sum += val[j] * x[col[j]];
    for (int o = 16; o; o >>= 1)
        sum += __shfl_xor_sync(~0u, sum, o);
    if (!lane) y[row] = sum;
}
"""


def spmv() -> Case:
    rows, per_row = 37, 40
    ptr = np.arange(0, rows * per_row + 1, per_row, dtype=np.int32)
    col = ints(100, rows * per_row)
    args = [ptr, col, floats(rows * per_row), floats(100), np.zeros(rows, np.float32)]
    return make_case("spmv", SPMV, [*args, np.int32(rows)], block=128, grid=10)


MATMUL = """
#define N 48
extern "C" __global__ void mm(float *a, float *b, float *c)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    float acc = 0;
    for (int k = 0; k < N; ++k)
        acc += a[i * N + k] * b[k * N + j];
    c[i * N + j] = acc;
}
"""


def matmul() -> Case:
    return make_case(
        "mm", MATMUL, [floats(48, 48), floats(48, 48, seed=3), np.zeros((48, 48), np.float32)],
        block=(16, 16), grid=(3, 3),
    )  # fmt: skip


CONVOLUTION = """
// 5 x 5 filter; src and filt are row-major. "src[0]" is the top left pixel.
const int R = 2;
__global__ void conv(const unsigned char *src, const float *filt, unsigned char *dst, int w, int h)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float s = 0.0f;
    for (int dy = -R; dy <= R; dy++)
        for (int dx = -R; dx <= R; dx++) {
            int xx = x + dx, yy = y + dy;
            if (xx < 0) xx = 0;
            if (xx > w - 1) xx = w - 1;
            yy = yy < 0 ? 0 : yy;
            yy = yy >= h ? h - 1 : yy;
            s += src[yy * w + xx] * filt[(dy + R) * (2 * R + 1) + dx + R];
        }
    dst[y * w + x] = (unsigned char)s; /* dst[y][x] */
}
"""


def convolution() -> Case:
    image = np.random.default_rng(4).integers(0, 255, (45, 70), dtype=np.uint8)
    filt = np.full((5, 5), 1 / 25, np.float32)
    return make_case(
        "conv", CONVOLUTION,
        [image, filt, np.zeros_like(image), np.int32(70), np.int32(45)],
        block=(32, 4), problem=(70, 45),
    )  # fmt: skip


STENCIL = """
__global__ void heat(const double *u, double *v, int nx, int ny, double k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > 0 && i < nx - 1 && j > 0 && j < ny - 1) {
        int at = j * nx + i;
        v[at] = u[at] + k * (u[at - 1] + u[at + 1] + u[at - nx] + u[at + nx] - 4 * u[at]);
    }
}
"""


def stencil() -> Case:
    u = np.random.default_rng(5).standard_normal((40, 50))
    args = [u, u.copy(), np.int32(50), np.int32(40), np.float64(0.1)]
    return make_case("heat", STENCIL, args, block=(16, 8), problem=(50, 40))


NBODY = """
__global__ void forces(const float4 *pos, float3 *acc, int n, float eps)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    float4 p = pos[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j++) {
        float dx = pos[j].x - p.x, dy = pos[j].y - p.y, dz = pos[j].z - p.z;
        float r = rsqrtf(dx * dx + dy * dy + dz * dz + eps);
        float f = pos[j].w * r * r * r;
        ax += f * dx; ay += f * dy; az += f * dz;
    }
    acc[i] = make_float3(ax, ay, az);
    acc[i].x += 1.0f;
}
"""


def nbody() -> Case:
    args = [floats(200, 4), np.zeros((200, 3), np.float32), np.int32(200), np.float32(0.01)]
    return make_case("forces", NBODY, args, block=64, problem=200)


HISTOGRAM = """
__global__ void hist(const unsigned *data, unsigned *bins, const unsigned *edges, int n, int nbins)
{
    unsigned stride = blockDim.x * gridDim.x;
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += stride) {
        unsigned d = data[i];
        unsigned b = 0;
        while (b < nbins - 1 && d >= edges[b + 1]) b++;
        atomicAdd(&bins[b], 1u);
    }
}
"""


def histogram() -> Case:
    data = np.random.default_rng(6).integers(0, 1000, 5000, dtype=np.uint32)
    edges = np.arange(0, 1001, 50, dtype=np.uint32)
    bins = np.zeros(20, np.uint32)
    args = [data, bins, edges, np.int32(5000), np.int32(20)]
    return make_case("hist", HISTOGRAM, args, block=128, grid=4)


REDUCTION = """
template <unsigned BLOCK, class T>
__global__ void reduce(const T *in, T *out, unsigned n)
{
    extern __shared__ unsigned char raw[];
    T *part = reinterpret_cast<T *>(raw);
    unsigned t = threadIdx.x;
    unsigned i = blockIdx.x * BLOCK * 2 + t;
    part[t] = (i < n ? in[i] : T(0)) + (i + BLOCK < n ? in[i + BLOCK] : T(0));
    __syncthreads();
    for (unsigned s = BLOCK / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
"""


def reduction() -> Case:
    data = np.random.default_rng(7).standard_normal(1000)
    args = [data, np.zeros(4), np.uint32(1000)]
    return make_case("reduce<128, double>", REDUCTION, args, block=128, grid=4, shared_bytes=1024)


ALIASES = """
__global__ void rows(const float *A, const float *B, float *C, int n, int m)
{
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        const float *row = A + r * m;       // this thread's row of A
        const float *next = &row[1];
        float s = *row;
        for (int k = 0; k < m - 1; ++k)
            s += next[k] * *(B + k) - B[m - 1];
        float *out = C + r;
        *out = s;
    }
}
"""


def aliases() -> Case:
    args = [floats(90, 12), floats(12), np.zeros(90, np.float32), np.int32(90), np.int32(12)]
    return make_case("rows", ALIASES, args, block=32, problem=90)


STRUCTS = """
namespace sim {
struct Particle { float4 pos; float mass; int kind; };

__device__ inline int cell(int x, int y, int n) { return y * n + x; }

// Moves particles along the field.
__global__ void push(Particle *parts, const float2 *field, const Particle *old, int n, int grid)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Particle p = old[i];
        float2 f = field[cell(p.kind, p.kind / 2, grid)];
        p.pos.x += f.x * old[i].mass;
        p.pos.y += field[p.kind].y;
        parts[i] = p;
        parts[i].pos.z = 0;
    }
}
}
"""


def structs() -> Case:
    dtype = np.dtype(
        {"names": ["pos", "mass", "kind"], "formats": [("f4", 4), "f4", "i4"],
         "offsets": [0, 16, 20], "itemsize": 32}
    )  # fmt: skip
    old = np.zeros(100, dtype)
    old["pos"], old["mass"], old["kind"] = floats(100, 4), 1.5, ints(8, 100)
    args = [np.zeros(100, dtype), floats(64, 2), old, np.int32(100), np.int32(8)]
    return make_case("sim::push", STRUCTS, args, block=32, problem=100)


MACROS = """
#define IDX(i, j) ((i) * n + (j))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define LOAD(i) w[i]
#define SQUARE(v) v * v
__global__ void first(float *x) { x[threadIdx.x] = 0; }
__global__ void relax(const float *x, const float *w, const int *last, float *y, int n)
{
    int i = threadIdx.x, j = blockIdx.x;
#if 0
    y[0] = x[0] + w[0];
#endif
    float v = MAX(x[IDX(i, j)], x[IDX(j, i)]);
    v += SQUARE(x[i]) + LOAD(j);
    y[IDX(i, j)] = v * last[n - 1] /* x */ + x[0];
}
"""


def macros() -> Case:
    args = [floats(32, 32), floats(32), ints(9, 32), np.zeros((32, 32), np.float32), np.int32(32)]
    return make_case("relax", MACROS, args, block=32, grid=32)


POINTER_WALK = """
__global__ void walk(const float *A, const float *B, float *C, int K, int N)
{
    A += blockIdx.y * 8 * K;
    B += blockIdx.x * 8;
    C += blockIdx.y * 8 * N + blockIdx.x * 8;
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
        sum += A[threadIdx.y * K + k] * B[threadIdx.x];
        B += N;
    }
    C[threadIdx.y * N + threadIdx.x] = sum;
}
"""


def pointer_walk() -> Case:
    args = [floats(16, 24), floats(24, 32), np.zeros((16, 32), np.float32), np.int32(24)]
    return make_case("walk", POINTER_WALK, [*args, np.int32(32)], block=(8, 8), grid=(4, 2))


TRANSPOSE = """
#define TILE 16
__global__ void transpose(const float *in, float *out, const int width, const int height)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 4)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += 4)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
"""


def transpose() -> Case:
    args = [floats(50, 70), np.zeros((70, 50), np.float32), np.int32(70), np.int32(50)]
    return make_case("transpose", TRANSPOSE, args, block=(16, 4), grid=(5, 4))


PLACED = """
__constant__ float taps[3];
__device__ float helper(const float *p, int i) { return p[i]; }
__global__ void placed(const float *a, const double *b, const float *c, float *d, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    d[i] = __ldg(&a[i]) * taps[0] + __ldg(a + i) + (float)b[i] + helper(c, i);
    if (i + 1 < n)
        d[i] += __ldg(&a[i + 1]);
}
"""


def placed() -> Case:
    args = [floats(100), np.linspace(0, 1, 100), floats(100), np.zeros(100, np.float32)]
    return make_case(
        "placed", PLACED, [*args, np.int64(100)], block=32, problem=100,
        constants={"taps": floats(3)},
    )  # fmt: skip


SCALED = """
__global__ void scaled(const long long *keys, const unsigned long long *mask, const double2 *z,
                       const short4 *s, const bool *flag, const float3 *f, double *out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const double2 &v = z[i];
        short4 q = s[n - 1 - i];
        out[i] = flag[i] ? (double)(keys[i] & (long long)mask[i % 4]) + v.x * v.y
                         : q.x + q.w + f[i].y;
    }
}
"""


def scaled() -> Case:
    generator = np.random.default_rng(8)
    n = 150
    args = [
        generator.integers(-(1 << 60), 1 << 60, n),
        generator.integers(0, 1 << 63, 4).astype(np.uint64),
        generator.standard_normal((n, 2)),
        generator.integers(-99, 99, (n, 4)).astype(np.int16),
        generator.integers(0, 2, n).astype(np.bool_),
        floats(n, 3),
        np.zeros(n),
        np.int32(n),
    ]
    return make_case("scaled", SCALED, args, block=32, grid=2)


SAMPLES = {
    "spmv": Sample(
        spmv,
        {"ptr": ALL, "col": "readonly texture constant shared",
         "val": "readonly texture constant shared", "x": ALL, "y": ""},
    ),
    "matmul": Sample(matmul, {"a": ALL, "b": ALL, "c": "shared"}),
    "convolution": Sample(convolution, {"src": ALL, "filt": ALL, "dst": "shared"}),
    "stencil": Sample(stencil, {"u": ALL, "v": "shared"}),
    "nbody": Sample(nbody, {"pos": ALL, "acc": "shared"}),
    "histogram": Sample(histogram, {"data": ALL, "bins": "shared", "edges": ALL}),
    "reduction": Sample(reduction, {"in": "readonly shared", "out": "shared"}),
    "aliases": Sample(aliases, {"A": ALL, "B": ALL, "C": "shared"}),
    "structs": Sample(
        structs, {"parts": "shared", "field": ALL, "old": "constant shared"}
    ),
    "macros": Sample(macros, {"x": ALL, "w": ALL, "last": ALL, "y": "shared"}),
    "pointer_walk": Sample(
        pointer_walk, {"A": ALL, "B": ALL, "C": ""}
    ),
    "transpose": Sample(transpose, {"in": ALL, "out": "shared"}),
    "placed": Sample(
        placed, {"a": "global texture constant shared", "b": ALL, "c": ALL, "d": "shared"}
    ),
    "scaled": Sample(
        scaled,
        {"keys": ALL, "mask": ALL, "z": ALL, "s": ALL, "flag": "constant shared",
         "f": "readonly constant shared", "out": ""},
    ),
}  # fmt: skip
