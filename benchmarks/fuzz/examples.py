"""Small valid inputs, from which hostile ones are made."""

from __future__ import annotations

import json
from typing import Any

KERNEL = """\
__global__ void scale(const float *x, float *out, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        if (i < n) out[i] = tile[63 - threadIdx.x] * 2.0f + x[(i + k) % n];
    }
}
"""
SMALL_CASE: dict[str, Any] = {
    "schema": 1,
    "name": "scale",
    "kernel": "scale",
    "source": "kernel.cu",
    "sizes": {"n": 300},
    "launch": {"problem": ["n"], "block": [64], "shared_bytes": 0},
    "arguments": [
        {"name": "x", "dtype": "float32", "shape": ["n"],
         "uniform": {"low": 0.0, "high": 1.0, "seed": 1}},
        {"name": "out", "dtype": "float32", "shape": ["n"], "fill": 0},
        {"name": "n", "dtype": "int32", "value": "n"},
    ],
}  # fmt: skip
RICH_KERNEL = """\
struct View { const float *data; int stride; };
__constant__ float weights[4];
extern "C" __global__ void blend(const float *const *rows, View view, const int *indptr,
                                 const int *indices, const float *values, const float *taps,
                                 const float *image, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = weights[i % 4] + taps[i % 5] + image[i % 12];
    for (int k = indptr[i]; k < indptr[i + 1]; k++) sum += values[k] * view.data[indices[k]];
    if (rows[i % 2]) sum += rows[i % 2][i * view.stride];
    out[i] = sum * FACTOR;
}
"""
RICH_CASE: dict[str, Any] = {
    "schema": 1,
    "kernel": "blend",
    "description": "one of everything",
    "source": "rich.cu",
    "std": "c++17",
    "flags": ["--use_fast_math"],
    "include": ["."],
    "placement_parameters": ["how"],
    "sizes": {"factor": 3},
    "defines": {"FACTOR": 2.5, "NOTE": "text"},
    "parameters": {"block_x": 32, "how": "a"},
    "matrices": {
        "A": {"generate": "hexahedra", "nodes": [3, 2, 2], "distortion": 0.1, "seed": 4},
        "B": {"file": "matrix.mtx"},
    },
    "images": {"photo": {"file": "photo.png"}},
    "launch": {"problem": ["A.rows"], "per_block": ["block_x * 1"], "block": ["block_x"]},
    "arguments": [
        {"name": "rows", "pointers": ["table", ""]},
        {"name": "view", "struct": [
            {"name": "data", "pointer": {"array": "table", "element": 1}},
            {"name": "stride", "dtype": "int32", "value": 1}]},
        {"name": "indptr", "matrix": "A", "part": "indptr", "dtype": "int32"},
        {"name": "indices", "matrix": "A", "part": "indices", "dtype": "int32"},
        {"name": "values", "matrix": "A", "part": "data", "dtype": "float32"},
        {"name": "taps", "gaussian": {"radius": 2, "sigma": 1.5}, "dtype": "float32"},
        {"name": "image", "image": "photo", "dtype": "float32"},
        {"name": "out", "dtype": "float64", "shape": ["A.rows"], "uninitialised": True},
        {"name": "n", "dtype": "int32", "value": "A.rows"},
    ],
    "constants": [{"name": "weights", "dtype": "float32", "values": [1, 2, 3, 4]}],
    "buffers": [{"name": "table", "dtype": "float32", "shape": ["(A.columns + 7) * 2"],
                 "arange": {"start": 0, "step": 1}}],
}  # fmt: skip
MATRIX = """\
%%MatrixMarket matrix coordinate real symmetric
% a comment
4 4 5
1 1 2.0
2 1 -1.0
2 2 2.0
4 3 0.5
4 4 1e-3
"""
PTX = """\
.version 8.0
.target sm_80
.address_size 64

.global .align 4 .f32 table[16];
.const .align 4 .u32 limit = 7;

.visible .entry scale(
    .param .u64 x,
    .param .u64 out,
    .param .u32 n
)
.reqntid 64, 1, 1
{
    .reg .pred %p<3>;
    .reg .f32 %f<6>;
    .reg .b32 %r<12>;
    .reg .b64 %rd<9>;
    .shared .align 4 .b8 tile[256];
    .local .align 4 .b8 kept[16];

    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.s32 %p1, %r5, %r1;
    @%p1 bra DONE;
    cvta.to.global.u64 %rd3, %rd1;
    mul.wide.s32 %rd4, %r5, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    shl.b32 %r6, %r4, 2;
    mov.u32 %r7, tile;
    add.s32 %r8, %r7, %r6;
    st.shared.f32 [%r8], %f1;
    ld.const.u32 %r9, [limit];
    mov.u32 %r10, 0;
LOOP:
    add.s32 %r10, %r10, 1;
    fma.rn.f32 %f1, %f1, 0f3F800000, 0f00000000;
    setp.lt.u32 %p2, %r10, %r9;
    @%p2 bra LOOP;
    ld.shared.f32 %f2, [%r8];
    add.f32 %f3, %f1, %f2;
    cvta.to.global.u64 %rd6, %rd2;
    add.s64 %rd7, %rd6, %rd4;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
"""
PTX_CASE = {**SMALL_CASE, "source": "kernel.ptx"}


def toml(document: Any) -> str:
    """``document`` as TOML: top-level keys, their values inline. What is no table gets a key."""
    if not isinstance(document, dict):
        document = {"value": document}
    lines = [f"{_key(key)} = {_toml_value(value)}" for key, value in document.items()]
    return "\n".join(lines) + "\n"


def _key(key: Any) -> str:
    text = str(key)
    return text if text.isidentifier() and text.isascii() else json.dumps(text)


def _toml_value(value: Any) -> str:
    match value:
        case None:
            return '"None"'
        case dict():
            return (
                "{ " + ", ".join(f"{_key(k)} = {_toml_value(v)}" for k, v in value.items()) + " }"
            )
        case list() | tuple():
            return "[" + ", ".join(map(_toml_value, value)) + "]"
        case float():
            return repr(value)
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return json.dumps(value)
