"""Texture reads against a NumPy reference, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_run import Collector, compiled, run
from hypothesis import given, settings
from hypothesis import strategies as st
from texture_reference import texture

from placewise.errors import CaseError, ExecutionError, UnsupportedError
from placewise.executor import DeviceMemory
from placewise.kernel.launch import Launch
from placewise.kernel.texture import Sampler, TextureArgument

SOURCE = r"""
#define READ(name, expression) \
extern "C" __global__ void name(cudaTextureObject_t t, const float* x, const float* y, \
                                const float* z, const int* l, OUT* o, int n) { \
  int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i < n) o[i] = expression; }
READ(read1, tex1D<OUT>(t, x[i]))
READ(read2, tex2D<OUT>(t, x[i], y[i]))
READ(read3, tex3D<OUT>(t, x[i], y[i], z[i]))
READ(layer1, tex1DLayered<OUT>(t, x[i], l[i]))
READ(layer2, tex2DLayered<OUT>(t, x[i], y[i], l[i]))
READ(cube, texCubemap<OUT>(t, x[i], y[i], z[i]))
READ(layers_of_cubes, texCubemapLayered<OUT>(t, x[i], y[i], z[i], l[i]))
READ(fetch, tex1Dfetch<OUT>(t, l[i]))
READ(level1, tex1DLod<OUT>(t, x[i], z[i]))
READ(level2, tex2DLod<OUT>(t, x[i], y[i], z[i]))
READ(level3, tex3DLod<OUT>(t, x[i], y[i], z[i], x[i]))
READ(gradient1, tex1DGrad<OUT>(t, x[i], y[i], z[i]))
READ(gradient2, tex2DGrad<OUT>(t, x[i], y[i], make_float2(z[i], 1), make_float2(0, z[i])))
READ(gather0, tex2Dgather<OUT>(t, x[i], y[i], 0))
READ(gather1, tex2Dgather<OUT>(t, x[i], y[i], 1))
READ(gather2, tex2Dgather<OUT>(t, x[i], y[i], 2))
READ(gather3, tex2Dgather<OUT>(t, x[i], y[i], 3))
"""
TYPES = {"f": "float4", "u": "uint4", "i": "int4"}
CHANNELS = ("u1", "i1", "u2", "i2", "f2", "f4", "u4", "i4")
N = 96


def read(
    kernel: str, argument: TextureArgument, kind: str = "f", **given: np.ndarray
) -> np.ndarray:
    """(n, 4) channels that a kernel of SOURCE returns."""
    n = len(next(iter(given.values())))
    arrays = {name: given.get(name, np.zeros(n)).astype(np.float32) for name in "xyz"}
    layers = given.get("l", np.zeros(n)).astype(np.int32)
    out = np.zeros((n, 4), f"{kind}4")
    source = SOURCE.replace("OUT", TYPES[kind])
    result = run(
        source, kernel, -(-n // 64), 64, t=argument, **arrays, l=layers, o=out, n=np.int32(n)
    )
    return result.output("o")


def texels(random: np.random.Generator, channel: str, shape: tuple[int, ...]) -> np.ndarray:
    if channel[0] == "f":
        return random.normal(0, 3, shape).astype(channel)
    info = np.iinfo(channel)
    return random.integers(info.min, info.max, shape, endpoint=True, dtype=channel)


@st.composite
def textures(draw: st.DrawFn) -> tuple[str, TextureArgument, list[np.ndarray]]:
    """A texture of one to three dimensions, the kernel that reads it, and where."""
    axes = draw(st.integers(1, 3))
    channel = draw(st.sampled_from(CHANNELS))
    small = channel[0] in "ui" and channel[1] in "12"
    normalized_read = channel[0] == "f" or (small and draw(st.booleans()))
    returns_float = channel[0] == "f" or normalized_read
    modes = st.sampled_from(["clamp", "border", "wrap", "mirror"])
    sampler = Sampler(
        address=(draw(modes), draw(modes), draw(modes)),
        filter="linear" if returns_float and draw(st.booleans()) else "point",
        read="normalized" if normalized_read else "element",
        normalized=draw(st.booleans()),
        border=(0.5, -2.0, 3.0, 0.25) if returns_float and draw(st.booleans()) else (0, 0, 0, 0),
    )
    shape = tuple(draw(st.integers(1, 9)) for _ in range(axes))
    random = np.random.default_rng(draw(st.integers(0, 1 << 20)))
    data = texels(random, channel, (*shape, draw(st.sampled_from([1, 2, 4]))))
    coordinates = []
    for axis in range(axes):
        extent = shape[axes - 1 - axis]
        # Every texel's edges and centres, and far outside.
        exact = np.arange(-3 * extent, 4 * extent, 0.5)
        places = np.concatenate([random.uniform(-3 * extent, 4 * extent, N), exact])
        places = random.choice(places, N)
        coordinates.append((places / (extent if sampler.normalized else 1)).astype(np.float32))
    geometry = draw(st.sampled_from(["2d", "pitch"])) if axes == 2 else f"{axes}d"
    return f"read{axes}", TextureArgument("t", data, geometry, sampler), coordinates


@settings(max_examples=120, deadline=None)
@given(textures())
def test_every_mode_reads_what_the_formulas_say(
    case: tuple[str, TextureArgument, list[np.ndarray]],
) -> None:
    kernel, argument, coordinates = case
    data, sampler = argument.data, argument.sampler
    kind = "f" if sampler.read == "normalized" else str(data.dtype.kind)
    given = dict(zip("xyz", coordinates, strict=False))
    found = read(kernel, argument, kind, **given)
    channels = data.shape[-1]
    expected = texture(data, coordinates, sampler)
    if sampler.filter == "point":
        assert np.array_equal(found[:, :channels], expected.astype(f"{kind}4"))
    else:
        scale = 1e-6 * max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(found[:, :channels], expected, rtol=2e-7, atol=scale)
    assert not found[:, channels:].any()


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("normalized", [False, True])
def test_fetches_of_linear_memory(channel: str, normalized: bool) -> None:
    random = np.random.default_rng(3)
    data = texels(random, channel, (70, 4))
    if channel == "f2":
        data[:4] = np.array([np.inf, -np.inf, 6e-8, -3e-5], np.float16)[:, None]
    if normalized and channel in ("u4", "i4"):
        with pytest.raises(CaseError, match="32-bit integers cannot be read as normalized"):
            read(
                "fetch",
                TextureArgument("t", data, sampler=Sampler(read="normalized")),
                l=np.zeros(1),
            )
        return
    sampler = Sampler(read="normalized" if normalized else "element")
    index = np.arange(-5, 75)
    kind = "f" if normalized else channel[0]
    found = read("fetch", TextureArgument("t", data, sampler=sampler), kind, l=index)
    inside = (index >= 0) & (index < 70)
    value = data[np.clip(index, 0, 69)]
    if normalized and channel[0] in "ui":
        value = np.maximum(value / np.iinfo(channel).max, -1)
    assert np.array_equal(found, np.where(inside[:, None], value, 0).astype(f"{kind}4"))


def test_layers_are_clamped_and_not_filtered() -> None:
    random = np.random.default_rng(4)
    x, y = random.uniform(-2, 9, (2, N)).astype(np.float32)
    layer = random.integers(-2, 6, N)
    sampler = Sampler(filter="linear")
    lines = texels(random, "f4", (3, 7, 1))
    squares = texels(random, "f4", (3, 5, 7, 1))
    found1 = read("layer1", TextureArgument("t", lines, "layered-1d", sampler), x=x, l=layer)
    found2 = read("layer2", TextureArgument("t", squares, "layered-2d", sampler), x=x, y=y, l=layer)
    for number in range(3):
        mine = np.clip(layer, 0, 2) == number
        expected = texture(lines[number], [x[mine]], sampler)
        np.testing.assert_allclose(found1[mine][:, :1], expected, rtol=1e-5, atol=1e-5)
        expected = texture(squares[number], [x[mine], y[mine]], sampler)
        np.testing.assert_allclose(found2[mine][:, :1], expected, rtol=1e-5, atol=1e-5)


def test_directions_meet_the_faces_of_cubes() -> None:
    """Each face is as OpenGL's and the guide's table of cube maps has it."""
    random = np.random.default_rng(5)
    size = 8
    data = texels(random, "f4", (2, 6, size, size))
    direction = random.normal(size=(N, 3)).astype(np.float32)
    # Axis of the face, then the axes and signs of s and t on it.
    faces = [
        (0, 1, (2, -1), (1, -1)), (0, -1, (2, 1), (1, -1)), (1, 1, (0, 1), (2, 1)),
        (1, -1, (0, 1), (2, -1)), (2, 1, (0, 1), (1, -1)), (2, -1, (0, -1), (1, -1)),
    ]  # fmt: skip
    major = np.argmax(np.abs(direction), axis=1)
    expected = np.zeros((2, N))
    for face, (axis, sign, s, t) in enumerate(faces):
        mine = (major == axis) & (np.sign(direction[:, axis]) == sign)
        rays = direction[mine].astype(np.float64)
        column, row = (
            np.floor((part[1] * rays[:, part[0]] / np.abs(rays[:, axis]) + 1) / 2 * size)
            for part in (s, t)
        )
        for layer in range(2):
            expected[layer, mine] = data[layer, face, row.astype(int), column.astype(int)]
    x, y, z = direction.T
    found = read("cube", TextureArgument("t", data[0], "cube"), x=x, y=y, z=z)
    assert np.array_equal(found[:, 0], expected[0].astype(np.float32))
    layer = np.arange(N) % 2
    cubes = TextureArgument("t", data, "layered-cube")
    found = read("layers_of_cubes", cubes, x=x, y=y, z=z, l=layer)
    assert np.array_equal(found[:, 0], np.choose(layer, expected).astype(np.float32))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_levels_and_gradients_read_the_only_level(axes: int) -> None:
    random = np.random.default_rng(6)
    data = texels(random, "f4", (6,) * axes)
    argument = TextureArgument("t", data, f"{axes}d", Sampler(filter="linear"))  # type: ignore[arg-type]
    given = {name: random.uniform(0, 6, N) for name in "xyz"}
    plain = read(f"read{axes}", argument, **given)
    assert np.array_equal(read(f"level{axes}", argument, **given), plain)
    if axes < 3:
        assert np.array_equal(read(f"gradient{axes}", argument, **given), plain)


@pytest.mark.parametrize("channel", range(4))
def test_gathers_go_round_the_four_nearest_texels(channel: int) -> None:
    random = np.random.default_rng(7)
    data = texels(random, "f4", (6, 9, 4))
    x, y = random.uniform(-1, 10, N).astype(np.float32), random.uniform(-1, 7, N).astype(np.float32)
    found = read(f"gather{channel}", TextureArgument("t", data, "2d"), x=x, y=y)
    i, j = np.floor(x.astype(float) - 0.5).astype(int), np.floor(y.astype(float) - 0.5).astype(int)
    for slot, (right, up) in enumerate([(0, 1), (1, 1), (1, 0), (0, 0)]):
        texel = data[np.clip(j + up, 0, 5), np.clip(i + right, 0, 8), channel]
        assert np.array_equal(found[:, slot], texel)


def test_coordinates_that_are_no_numbers_stay_inside() -> None:
    data = np.arange(8, dtype=np.float32)
    x = np.array([np.inf, -np.inf, np.nan, 1e30, -1e30], np.float32)
    found = read("read1", TextureArgument("t", data, "1d"), x=x)[:, 0]
    assert found.tolist() == [7, 0, 0, 7, 0]


def test_rows_of_a_pitch() -> None:
    padded = np.arange(5 * 16, dtype=np.float32).reshape(5, 16)
    argument = TextureArgument("t", padded, "pitch", Sampler(address=("border",) * 3), width=11)
    x, y = (a.ravel().astype(np.float32) + 0.5 for a in np.meshgrid(np.arange(16), np.arange(5)))
    found = read("read2", argument, x=x, y=y)[:, 0]
    assert np.array_equal(found, np.where(x < 11, padded[y.astype(int), x.astype(int)], 0))


def test_traces_name_every_texel_of_a_footprint() -> None:
    data = np.arange(35, dtype=np.float32).reshape(5, 7)
    random = np.random.default_rng(8)
    x, y = (
        random.uniform(-1, 8, 64).astype(np.float32),
        random.uniform(-1, 6, 64).astype(np.float32),
    )
    sampler = Sampler(filter="linear", address=("border", "clamp", "clamp"))
    collector = Collector()
    result = run(
        SOURCE.replace("OUT", "float4"), "read2", 2, 32, options={"consumer": collector},
        t=TextureArgument("t", data, "2d", sampler), x=x, y=y, z=x, l=np.zeros(64, np.int32),
        o=np.zeros((64, 4), np.float32), n=np.int32(64),
    )  # fmt: skip
    found: list[set[int]] = [set() for _ in range(64)]
    for block, _, offsets in collector.of("t", "load"):
        for lane, offset in enumerate(offsets):
            if offset is not None:
                found[32 * block + lane].add(offset)
    i, j = np.floor(x.astype(float) - 0.5).astype(int), np.floor(y.astype(float) - 0.5).astype(int)
    for k in range(64):
        columns = [c for c in (i[k], i[k] + 1) if 0 <= c < 7]
        rows = [min(max(r, 0), 4) for r in (j[k], j[k] + 1)]
        assert found[k] == {4 * (7 * r + c) for r in rows for c in columns}
    (site,) = [s for s in collector.sites if s.space == "texture"]
    assert (site.kind, site.lane_bytes, site.opcode) == ("load", 4, "tex.2d.v4.f32.f32")
    assert result.site_executions[collector.sites.index(site)] == 2


TABLES = r"""
struct Pair { cudaTextureObject_t first; int scale; };
extern "C" __global__ void table(const cudaTextureObject_t* t, Pair p, float* o) {
  int i = threadIdx.x;
  o[i] = tex1Dfetch<float>(t[i % 3], i) + p.scale * tex2D<float>(p.first, i % 4, i / 4);
}
extern "C" __global__ void twice(cudaSurfaceObject_t s, int w) {
  int x = threadIdx.x, y = blockIdx.x;
  if (x < w) surf2Dwrite(2 * surf2Dread<float>(s, 4 * x, y), s, 4 * x, y);
}
"""


def test_objects_over_arrays_that_launches_share() -> None:
    """Handles in tables and structs; a surface writes what a texture reads in the next launch."""
    memory = DeviceMemory()
    rows = [memory.upload(f"row{n}", np.arange(40, dtype=np.float32) * (n + 1)) for n in range(3)]
    image = memory.upload("image", np.arange(24, dtype=np.float32).reshape(6, 4))
    handles = [memory.texture_of(r).address for r in rows]
    table = memory.upload("table", np.array(handles, np.uint64))
    out = memory.upload("out", np.zeros(24, np.float32))
    surface = memory.surface_of(image)
    memory.launch(compiled(TABLES, "twice"), Launch((6, 1, 1), (32, 1, 1)), [surface, np.int32(4)])
    assert np.array_equal(image.download().ravel(), 2 * np.arange(24))
    pair = np.zeros((), np.dtype([("first", "u8"), ("scale", "i4")], align=True))
    pair["first"], pair["scale"] = memory.texture_of(image, "2d").address, 100
    result = memory.launch(
        compiled(TABLES, "table"), Launch((1, 1, 1), (24, 1, 1)), [table, pair[()], out]
    )
    i = np.arange(24)
    assert np.array_equal(out.download(), i * (i % 3 + 1) + 100 * 2 * i)
    assert result.read == {"table", "row0", "row1", "row2", "image"}
    memory.free(image)
    with pytest.raises(CaseError, match="memory was freed"):
        memory.launch(
            compiled(TABLES, "twice"), Launch((6, 1, 1), (32, 1, 1)), [surface, np.int32(4)]
        )


def test_what_no_texture_can_be_is_refused() -> None:
    data = np.zeros((4, 4), np.float32)
    x = np.zeros(1)
    for argument, message in (
        (TextureArgument("t", np.zeros(4, np.complex128), "1d"), "elements of type complex128"),
        (TextureArgument("t", np.zeros((4, 3), np.float32), "1d"), r"shape \(4, 3\) for a 1d"),
        (TextureArgument("t", data, "5d"), "no geometry is called '5d'"),  # type: ignore[arg-type]
        (TextureArgument("t", data, "3d"), "which has 3 axes"),
        (TextureArgument("t", np.zeros((0, 4), np.float32), "2d"), "an empty 2d texture"),
        (TextureArgument("t", np.zeros((1, 200000), np.uint8), "2d"), "65536 × 131072"),
        (TextureArgument("t", np.zeros((5, 4, 4), np.float32), "cube"), "6 square faces"),
        (TextureArgument("t", data, "2d", width=2), "a width of 2 texels for a 2d"),
        (TextureArgument("t", data.astype(np.uint8), "2d", Sampler(filter="linear")), "integers"),
        (TextureArgument("t", data, "2d", Sampler(border=(np.inf, 0, 0, 0))), "not finite"),
    ):
        with pytest.raises(CaseError, match=message) as caught:
            read("read2", argument, x=x)
        assert caught.value.where == "texture 't'"


def test_what_a_kernel_may_not_do_with_textures() -> None:
    x = np.zeros(1)
    with pytest.raises(ExecutionError, match=r"'tex.2d\S+' accesses 't', which is linear \(4 tex"):
        read("read2", TextureArgument("t", np.zeros(4, np.float32)), x=x)
    with pytest.raises(ExecutionError, match="is given 0x7, no texture or surface object"):
        run(
            "extern \"C\" __global__ void k(cudaTextureObject_t t, float* o)"
            "{ *o = tex2D<float>(t, 0, 0); }",
            "k", 1, 1, t=np.uint64(7), o=np.zeros(1, np.float32),
        )  # fmt: skip
    with pytest.raises(UnsupportedError, match=r"txq\.width\S* is not covered|'txq"):
        run(
            'extern "C" __global__ void k(cudaTextureObject_t t, int* o) {'
            'asm("txq.width.b32 %0, [%1];" : "=r"(*o) : "l"(t)); }',
            "k", 1, 1, t=TextureArgument("t", np.zeros(4, np.float32)), o=np.zeros(1, np.int32),
        )  # fmt: skip
