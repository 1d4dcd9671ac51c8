"""Texture and surface instructions of machine code give what the PTX gives."""

from dataclasses import replace

import numpy as np
import pytest

from placewise.executor import DeviceMemory
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.kernel.launch import Launch
from placewise.kernel.texture import Sampler, SurfaceArgument, TextureArgument

READS = {
    "read1": ("1d", "tex1D<float4>(t, x[i])"),
    "read2": ("2d", "tex2D<float4>(t, x[i], y[i])"),
    "one_channel": ("2d", "make_float4(tex2D<float>(t, x[i], y[i]), 0, 0, 1)"),
    "some_channels": ("2d", "some(tex2D<float4>(t, x[i], y[i]))"),
    "read3": ("3d", "tex3D<float4>(t, x[i], y[i], z[i])"),
    "layer1": ("1d layers", "tex1DLayered<float4>(t, x[i], l[i])"),
    "layer2": ("2d layers", "tex2DLayered<float4>(t, x[i], y[i], l[i])"),
    "fetch": ("linear", "tex1Dfetch<float4>(t, l[i])"),
    "level2": ("2d", "tex2DLod<float4>(t, x[i], y[i], z[i])"),
    "gradient2": (
        "2d",
        "tex2DGrad<float4>(t, x[i], y[i], make_float2(z[i], 1), make_float2(0, z[i]))",
    ),
    "gather": ("2d", "tex2Dgather<float4>(t, x[i], y[i], 2)"),
}
SOURCE = """
__device__ float4 some(float4 v) { return make_float4(v.y, v.w, 0, 1); }
""" + "".join(
    f"""extern "C" __global__ void {name}(cudaTextureObject_t t, const float* x, const float* y,
                                const float* z, const int* l, float4* o, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = {expression};
}}
"""
    for name, (_, expression) in READS.items()
)
STORED = SOURCE.replace(
    "cudaTextureObject_t t,", "const cudaTextureObject_t* table, const int* which,"
).replace("if (i < n)", "cudaTextureObject_t t = table[which[i]]; if (i < n)")
"""The same with an object that each thread takes from memory."""
SHAPES = {
    "1d": (11, 4),
    "2d": (7, 9, 4),
    "3d": (5, 6, 7, 4),
    "1d layers": (4, 9, 4),
    "2d layers": (4, 6, 7, 4),
    "linear": (64, 4),
}
GEOMETRIES = {"1d layers": "layered-1d", "2d layers": "layered-2d"}
SURFACES = """
extern "C" __global__ void halves(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  float v = 0;
  surf2Dread(&v, s, (x - 2) * 4, y, cudaBoundaryModeZero);
  float w;
  surf2Dread(&w, s, (x + 3) * 4, y, cudaBoundaryModeClamp);
  if (x < width) surf2Dwrite(v + w, d, x * 4, y);
}
extern "C" __global__ void vectors(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x >= width / 4) return;
  float4 v;
  surf2Dread(&v, s, x * 16, y);
  unsigned char b;
  surf2Dread(&b, s, x, y);
  short h;
  surf2Dread(&h, s, x * 2, y);
  surf2Dwrite(make_float4(v.w + b, v.z, v.y + h, v.x), d, x * 16, y, cudaBoundaryModeClamp);
}
extern "C" __global__ void bytes(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x >= width / 2) return;
  short2 v;
  surf2Dread(&v, s, x * 4, y);
  surf2Dwrite((unsigned char)(v.x + v.y), d, x, y);
  surf2Dwrite((short)(v.x - v.y), d, x * 2 + width * 2, y);
}
"""
STORED_SURFACES = """
extern "C" __global__ void stored(const cudaSurfaceObject_t* table, const int* which, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  cudaSurfaceObject_t s = table[which[x]];
  if (x < width) surf2Dwrite(surf2Dread<float>(s, x * 4, y) + 1, table[2], x * 4, y);
}
extern "C" __global__ void chosen(cudaSurfaceObject_t s, cudaSurfaceObject_t d, int width) {
  int x = threadIdx.x, y = blockIdx.x;
  cudaSurfaceObject_t other = width > 3 ? d : s;
  if (x < width) surf2Dwrite(surf2Dread<float>(s, x * 4, y) + 1, other, x * 4, y);
}
"""
TARGETS = [
    "sm_80",
    *(pytest.param(a, marks=pytest.mark.slow) for a in ("sm_75", "sm_86", "sm_90", "sm_120")),
]
N = 96


def both(kernel, arguments, blocks, threads):
    """Arrays by name after the PTX's run and after the machine code's."""
    found = []
    for machine_code in (False, True):
        memory = DeviceMemory()
        given, arrays = arguments(memory)
        memory.launch(
            replace(kernel, machine_code=machine_code),
            Launch((blocks, 1, 1), (threads, 1, 1)),
            given,
        )
        found.append([array.download() for array in arrays])
    return found


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("arch", TARGETS)
def test_reads(name, arch, linear):
    kind = READS[name][0]
    (kernel,) = compile_module(SOURCE, "textures.cu", [name], CompileOptions(arch=arch))
    random = np.random.default_rng(5)
    data = random.normal(0, 3, SHAPES[kind]).astype(np.float32)
    coordinates = [random.uniform(-4, 14, N).astype(np.float32) for _ in range(3)]
    layers = random.integers(0, SHAPES[kind][0], N).astype(np.int32)
    sampler = Sampler(address=("clamp", "clamp", "clamp"), filter="linear" if linear else "point")
    if kind == "linear":
        if linear:
            pytest.skip("linear memory is not filtered")
        texture = TextureArgument("t", data)
    else:
        texture = TextureArgument("t", data, GEOMETRIES.get(kind, kind), sampler)

    def arguments(memory):
        out = memory.upload("o", np.zeros((N, 4), np.float32))
        given = [memory.upload(n, c) for n, c in zip("xyz", coordinates, strict=True)]
        return [texture, *given, memory.upload("l", layers), out, np.int32(N)], [out]

    ptx, own = both(kernel, arguments, 3, 32)
    assert ptx[0].any()
    assert np.array_equal(ptx[0], own[0])


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("arch", TARGETS)
def test_reads_through_objects_in_memory(name, arch):
    kind = READS[name][0]
    (kernel,) = compile_module(STORED, "stored.cu", [name], CompileOptions(arch=arch))
    random = np.random.default_rng(7)
    data = [random.normal(0, 3, SHAPES[kind]).astype(np.float32) for _ in range(3)]
    coordinates = [random.uniform(-4, 14, N).astype(np.float32) for _ in range(3)]
    layers = random.integers(0, SHAPES[kind][0], N).astype(np.int32)
    which = random.integers(0, 3, N).astype(np.int32)

    def arguments(memory):
        arrays = [memory.upload(f"data{n}", d) for n, d in enumerate(data)]
        objects = [memory.texture_of(a, GEOMETRIES.get(kind, kind)) for a in arrays]
        table = memory.upload("table", np.array([o.address for o in objects], np.uint64))
        out = memory.upload("o", np.zeros((N, 4), np.float32))
        given = [memory.upload(n, c) for n, c in zip("xyz", coordinates, strict=True)]
        picked = memory.upload("which", which)
        return [table, picked, *given, memory.upload("l", layers), out, np.int32(N)], [out]

    ptx, own = both(kernel, arguments, 3, 32)
    assert ptx[0].any()
    assert np.array_equal(ptx[0], own[0])


@pytest.mark.parametrize("name", ["stored", "chosen"])
@pytest.mark.parametrize("arch", TARGETS)
def test_surfaces_that_the_run_chooses(name, arch):
    (kernel,) = compile_module(STORED_SURFACES, "stored.cu", [name], CompileOptions(arch=arch))
    width, height = 16, 6
    data = np.random.default_rng(8).integers(-99, 99, (3, height, width)).astype(np.float32)
    which = np.arange(32, dtype=np.int32) % 2

    def arguments(memory):
        arrays = [memory.upload(f"data{n}", d) for n, d in enumerate(data)]
        objects = [memory.surface_of(a, "2d") for a in arrays]
        table = memory.upload("table", np.array([o.address for o in objects], np.uint64))
        picked = memory.upload("which", which)
        first = [table, picked] if name == "stored" else [objects[0], objects[2]]
        return [*first, np.int32(width)], arrays

    ptx, own = both(kernel, arguments, height, 32)
    expected = data.copy()
    expected[2] = data[0] + 1
    if name == "stored":
        expected[2][:, 1::2] = data[1][:, 1::2] + 1
    for found in (ptx, own):
        assert np.array_equal(np.array(found), expected)


@pytest.mark.parametrize("name", ["halves", "vectors", "bytes"])
@pytest.mark.parametrize("arch", TARGETS)
def test_surfaces(name, arch):
    (kernel,) = compile_module(SURFACES, "surfaces.cu", [name], CompileOptions(arch=arch))
    width, height = 16, 6
    source = np.random.default_rng(6).integers(-99, 99, (height, width)).astype(np.float32)

    def arguments(memory):
        target = memory.upload("d", np.zeros((height, width), np.float32))
        surface = memory.surface_of(target, "2d")
        return [SurfaceArgument("s", source, "2d"), surface, np.int32(width)], [target]

    ptx, own = both(kernel, arguments, height, 32)
    assert ptx[0].any()
    assert np.array_equal(ptx[0].view(np.uint32), own[0].view(np.uint32))
