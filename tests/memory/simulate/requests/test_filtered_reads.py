"""Reads of filtered textures: the sectors of all texels of a read, asked for once."""

from __future__ import annotations

import numpy as np
import pytest

from placewise import make_case
from placewise.advisor.predictions.predicted_counters import predict_counters
from placewise.kernel.texture import Sampler, SurfaceArgument, TextureArgument

SIDE, THREADS = 64, 32
FETCH = "tex2D<float>(image, (t * 7 % 61 + {x}) * 0.75f, (t * 5 % 59 + t / 32) * 0.5f + 1.1f)"
GATHER = "tex2Dgather<float4>(image, t % 61 + {x} + 0.5f, t / 7 + 0.5f, 0).x"
SOURCE = """
__global__ void sample(cudaTextureObject_t image, float *out) {
    int t = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < 6; ++k) sum += READ;
    out[t] = sum;
}
"""
REQUESTS = "l1tex__t_requests_pipe_tex_mem_texture.sum"
SECTORS = "l1tex__t_sectors_pipe_tex_mem_texture.sum"
HITS = "l1tex__t_sectors_pipe_tex_mem_texture_lookup_hit.sum"
ASKED = "lts__t_sectors_op_read.sum"
DRAM = "dram__sectors_read.sum"


def texels(t, k, *, gather):
    """(x, y) of the four texels that a thread's read ``k`` touches."""
    if gather:
        x, y = t % 61 + k, t // 7
    else:
        x, y = (t * 7 % 61 + k) * 0.75 - 0.5, (t * 5 % 59 + t // 32) * 0.5 + 1.1 - 0.5
    low = int(np.floor(x)), int(np.floor(y))
    return [
        (min(max(low[0] + i, 0), SIDE - 1), min(max(low[1] + j, 0), SIDE - 1))
        for i in (0, 1)
        for j in (0, 1)
    ]


@pytest.mark.parametrize("gather", [False, True], ids=["linear", "gather"])
def test_the_sectors_of_all_texels_are_one_request(gather):
    read = (GATHER if gather else FETCH).format(x="k")
    data = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)
    sampler = Sampler(filter="point" if gather else "linear")
    image = TextureArgument("image", data, "2d", sampler)
    out = np.zeros(THREADS, np.float32)
    case = make_case(
        "sample", SOURCE.replace("READ", read), {"image": image, "out": out}, block=THREADS, grid=1
    )
    found = {m.name: m.value for m in predict_counters(case, "A4000").metrics}
    reads = [
        {(SIDE * y + x) * 4 // 32 for t in range(THREADS) for x, y in texels(t, k, gather=gather)}
        for k in range(6)
    ]
    asked = sum(map(len, reads))
    lacking = len(set().union(*reads))
    assert found[REQUESTS] == len(reads)
    assert found[SECTORS] == asked
    assert found[HITS] == asked - lacking
    assert found[ASKED] == found[DRAM] == lacking


def test_unfiltered_texels_are_a_record_each():
    data = np.zeros((SIDE, SIDE), np.float32)
    image = TextureArgument("image", data, "2d", Sampler(filter="point"))
    read = "tex2D<float>(image, t + 0.5f, k + 0.5f)"
    case = make_case(
        "sample",
        SOURCE.replace("READ", read),
        {"image": image, "out": np.zeros(THREADS, np.float32)},
        block=THREADS,
        grid=1,
    )
    found = {m.name: m.value for m in predict_counters(case, "A4000").metrics}
    assert (found[REQUESTS], found[SECTORS], found[DRAM]) == (6, 24, 24)


def test_surfaces_have_counters_of_their_own():
    source = """
    __global__ void doubled(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int wide) {
        int x = blockIdx.x * 16 + threadIdx.x, y = threadIdx.y;
        if (x < wide) surf2Dwrite(2.0f * surf2Dread<float>(from, 4 * x, y), to, 4 * x, y);
    }
    """
    wide, high = 40, 16
    data = np.ones((high, wide), np.float32)
    surfaces = {name: SurfaceArgument(name, data.copy(), "2d") for name in ("to", "from")}
    case = make_case(
        "doubled", source, {**surfaces, "wide": np.int32(wide)}, block=(16, 16), grid=3
    )
    found = {m.name: m.value for m in predict_counters(case, "A4000").metrics}
    # A warp has two rows of a block; of the last block half of each row.
    for kind in ("ld", "st"):
        assert found[f"l1tex__t_requests_pipe_tex_mem_surface_op_{kind}.sum"] == 3 * 8
        assert found[f"l1tex__t_sectors_pipe_tex_mem_surface_op_{kind}.sum"] == high * wide // 8
    assert not any("texture" in name for name in found)
