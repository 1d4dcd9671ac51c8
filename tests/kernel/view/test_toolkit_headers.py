"""Sources that include CUDA's own headers, as most programs do."""

import numpy as np
import pytest

from placewise.kernel.cases.make_case import make_case
from placewise.kernel.view.tree.clang import parse_kernel

BODY = """
__device__ float twice(float x) { return x + x; }
__global__ void k(const float *a, float *o) { o[threadIdx.x] = twice(a[threadIdx.x]); }
"""


def parsed(source):
    arguments = [np.ones(32, np.float32), np.zeros(32, np.float32)]
    return parse_kernel(make_case("k", source, arguments, block=32, grid=1))


@pytest.mark.parametrize(
    "header",
    [
        "cuda_runtime.h",
        "cooperative_groups.h",
        "cooperative_groups/reduce.h",
        "cuda_fp16.h",
        "cuda_bf16.h",
        "cuda_pipeline.h",
        "cmath",
    ],
)
def test_the_kernel_stands_outside_of_what_headers_declare(header):
    found = parsed(f"#include <cuda_runtime.h>\n#include <{header}>\n{BODY}")
    assert [f.name for f in found.functions] == ["twice"]
    assert not found.in_namespace
    assert found.redeclared is None
    assert found.errors == ()


def test_types_of_the_toolkit_are_known():
    source = """\
#include <cuda_runtime.h>
#include <cooperative_groups.h>
#include <cmath>
namespace cg = cooperative_groups;
__global__ void k(const float *a, float *o) {
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    long nearest = std::lround(a[warp.thread_rank()]) + lrintf(a[0]) + ilogb(a[1]);
    o[warp.meta_group_rank()] = nearest;
}
"""
    found = parsed(source)
    assert found.errors == ()
    indices = [n for n in found.body.walk() if n.kind == "ARRAY_SUBSCRIPT_EXPR"]
    assert sorted(n.type for n in indices) == ["const float"] * 3 + ["float"]


def test_a_missing_header_leaves_calls_of_loads_and_atomics_resolved():
    source = """\
#ifdef __clang__
#include "nowhere.h"
#endif
__global__ void k(const float *a, float *o) { atomicAdd(o + 1, __ldg(a + threadIdx.x)); }
"""
    found = parsed(source)
    calls = [n for n in found.body.walk() if n.kind == "CALL_EXPR"]
    assert [n.type for n in calls] == ["float", "float"]
