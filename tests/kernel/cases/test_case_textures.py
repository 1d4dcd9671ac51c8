"""Texture and surface arguments of case files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from placewise.errors import CaseError
from placewise.executor import execute
from placewise.kernel.cases.case_file import case_from
from placewise.kernel.cases.prepare_case import compile_case
from placewise.kernel.launch import SurfaceArgument, TextureArgument
from placewise.kernel.texture import Sampler

FILE = '''
schema = 1
kernel = "shade"
code = """
extern "C" __global__ void shade(cudaTextureObject_t image, cudaSurfaceObject_t out, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < n) surf2Dwrite(tex2D<float>(image, (x + 0.5f) / n, (y + 0.5f) / 4), out, 4 * x, y);
}
"""
[sizes]
n = 6
[launch]
grid = [1, 4]
block = [32]
[[arguments]]
name = "image"
dtype = "uint8"
shape = [4, "n"]
arange = { step = 10 }
texture = { geometry = "2d", read = "normalized", normalized = true, address = ["wrap", "mirror"] }
[[arguments]]
name = "out"
dtype = "float32"
shape = [4, "n"]
fill = 0
surface = {}
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
'''


def case(text: str = FILE) -> Any:
    return case_from(tomllib.loads(text), Path("shade.toml"))


def test_a_case_file_declares_textures_and_surfaces() -> None:
    read = case()
    image, out, _ = read.inputs.arguments
    assert isinstance(image, TextureArgument)
    assert (image.name, image.geometry, image.width) == ("image", "2d", None)
    assert image.sampler == Sampler(
        address=("wrap", "mirror", "mirror"), read="normalized", normalized=True
    )
    assert isinstance(out, SurfaceArgument)
    assert (out.name, out.geometry) == ("out", "2d")
    result = execute(compile_case(read), read.launch, read.inputs)
    expected = (np.arange(0, 240, 10).reshape(4, 6) / 255).astype(np.float32)
    assert np.array_equal(result.output("out"), expected)


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        ('"mirror"]', '"mirrored"]', "arguments.image.texture.address", "'wrap' or 'mirror'"),
        ('geometry = "2d"', 'geometry = "3d"', "arguments.image", "which has 3 axes"),
        ('geometry = "2d"', 'shape = "2d"', "arguments.image.texture.shape", "unknown key"),
        ("surface = {}", "surface = {}\ntexture = {}", "arguments.out", "either a texture or a"),
        ('value = "n"', 'value = "n"\ntexture = {}', "arguments.n.texture", "unknown key"),
        ('read = "normalized"', 'filter = "linear"', "arguments.image", "filtering of integers"),
        ("surface = {}", "surface = {}\n[[buffers]]\nname = \"b\"\ndtype = \"float32\"\n"
         "shape = [4]\nfill = 1\ntexture = {}", "buffers.b", "only an argument"),
    ],
)  # fmt: skip
def test_errors_name_the_key(old: str, new: str, where: str, message: str) -> None:
    assert old in FILE
    with pytest.raises(CaseError, match=message) as caught:
        case(FILE.replace(old, new))
    assert caught.value.where == f"shade.toml: {where}"
