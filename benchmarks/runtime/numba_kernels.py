"""The kernels of ``kernels.cu`` for Numba."""

from __future__ import annotations

# ruff: noqa: ANN001, ANN201, ARG001 - as those of kernels.cu; Numba infers the types
import numba
from numba import cuda


@cuda.jit
def spmv(row, column, value, x, y, n):
    i = cuda.grid(1)
    if i < n:
        total = numba.float32(0)
        for k in range(row[i], row[i + 1]):
            total += value[k] * x[column[k]]
        y[i] = total


@cuda.jit
def dot(x, y, part, n):
    sums = cuda.shared.array(256, numba.float32)
    t = cuda.threadIdx.x
    total = numba.float32(0)
    for i in range(cuda.blockIdx.x * 256 + t, n, 256 * cuda.gridDim.x):
        total += x[i] * y[i]
    sums[t] = total
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            sums[t] += sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        part[cuda.blockIdx.x] = sums[0]


@cuda.jit
def axpy(a, x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] += a * x[i]


@cuda.jit
def xpay(x, a, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] = x[i] + a * y[i]


@cuda.jit
def assign(points, centres, label, n, k, d):
    i = cuda.grid(1)
    if i < n:
        best = numba.float32(3.4e38)
        at = 0
        for c in range(k):
            s = numba.float32(0)
            for j in range(d):
                t = points[j, i] - centres[c, j]
                s += t * t
            if s < best:
                best = s
                at = c
        label[i] = at


@cuda.jit
def accumulate(points, label, sums, counts, n, d):
    i = cuda.grid(1)
    if i < n:
        c = label[i]
        cuda.atomic.add(counts, c, 1)
        for j in range(d):
            cuda.atomic.add(sums, (c, j), numba.int32(points[j, i] * numba.float32(16384)))


@cuda.jit
def divide(sums, counts, centres, k, d):
    i = cuda.grid(1)
    if i < k * d:
        c, j = i // d, i % d
        if counts[c] > 0:
            centres[c, j] = numba.float32(sums[c, j]) / (
                numba.float32(16384) * numba.float32(counts[c])
            )


@cuda.jit
def heat(now, conductivity, following, nx, ny, dt):
    x, y = cuda.grid(2)
    if x >= 1 and y >= 1 and x < nx - 1 and y < ny - 1:
        c = now[y, x]
        flow = now[y, x - 1] + now[y, x + 1] + now[y - 1, x] + now[y + 1, x] - numba.float32(4) * c
        following[y, x] = c + dt * conductivity[y, x] * flow


@cuda.jit
def borders(field, nx, ny):
    i = cuda.grid(1)
    if i < nx:
        field[0, i] = field[1, i]
        field[ny - 1, i] = field[ny - 2, i]
    if i < ny:
        field[i, 0] = field[i, 1]
        field[i, nx - 1] = field[i, nx - 2]


@cuda.jit
def warm(table, field, nx, step, period, x0, y0, width):
    x, y = cuda.threadIdx.x, cuda.blockIdx.x
    if x < width:
        field[y0 + y, x0 + x] += table[step % period]
