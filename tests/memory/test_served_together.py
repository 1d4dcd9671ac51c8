"""Memories whose condition compares the threads of a block or of the grid."""

from pathlib import Path

import numpy as np
import pytest

import placewise.machine
from placewise import make_case
from placewise.advisor.prepare import prepare
from placewise.errors import MachineError
from placewise.machine import load_machine

ENTRY = """
nearRam 41 Y RW na 1MB ? 32 10clk <> <> sm <0.1 0.1> {condition};
space near N kernel_buffer <nearRam> nearPath RW declaration "__shared__";
farRam 42 Y R na 1GB 128B ? 300clk <> <> die <0.2 0.2> {condition};
space far F intrinsic <farRam> farPath R intrinsic "__ldg";
"""
BANKS = "{word1 != word2 && word1 % 32 == word2 % 32}"
SOURCE = """
__global__ void k(const float *same, const float *own, const float *strided, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = same[threadIdx.x % 32] + own[i] + strided[threadIdx.x * 32];
}"""
BLOCKS, THREADS = 6, 256


def _profile(folder, condition):
    known = Path(placewise.machine.__file__).parent / "files" / "K20c.msl"
    path = folder / "invented.msl"
    path.write_text(known.read_text() + ENTRY.replace("{condition}", condition))
    arrays = [np.ones(n, np.float32) for n in (32, BLOCKS * THREADS, THREADS * 32)]
    out = np.zeros(BLOCKS * THREADS, np.float32)
    case = make_case("k", SOURCE, [*arrays, out], block=THREADS, grid=BLOCKS)
    return prepare(case, load_machine(str(path))).profile


@pytest.mark.parametrize(
    ("condition", "same", "own", "strided"),
    [
        # 48 warps, each free of conflicts, or all its 32 words in one bank.
        (f"warp{BANKS}", 48, 48, 48 * 32),
        # Eight warps of a block: the same 32 words; 8 words in each bank; 256 in one bank.
        (f"block{BANKS}", 6, 6 * 8, 6 * 256),
        # All blocks: the same words again; 48 words in each bank; the same 256 in one bank.
        (f"grid{BANKS}", 1, 48, 256),
        ("block{address1 != address2}", 6 * 32, 6 * 256, 6 * 256),
        ("grid{⌊address1/blockSize⌋ != ⌊address2/blockSize⌋}", 1, 48, 256),
    ],
)
def test_threads_of_the_scope_are_served_together(tmp_path, condition, same, own, strided):
    if "blockSize" in condition:
        condition = condition.replace("blockSize", "128")
    profile = _profile(tmp_path, condition)
    far = profile.machine.memory("farRam")
    found = [profile.transactions(a, far).sum() for a in ("same", "own", "strided")]
    assert found == pytest.approx([same, own, strided])
    (line,) = profile.lines("own", far)
    assert line.transactions == pytest.approx(own)


def test_shared_memory_serves_each_warp_by_itself(tmp_path):
    profile = _profile(tmp_path, f"block{BANKS}")
    shared, near = (profile.machine.memory(n) for n in ("sharedMem", "nearRam"))
    assert shared.condition.scope == near.condition.scope == "block"
    assert profile.transactions("same", shared).sum() == 48
    assert profile.transactions("same", near).sum() == 6


def test_other_shapes_of_conditions_are_refused_beyond_a_warp(tmp_path):
    profile = _profile(tmp_path, "block{word1 < word2}")
    far = profile.machine.memory("farRam")
    with pytest.raises(MachineError, match="distinct keys in a group only") as raised:
        profile.transactions("own", far)
    assert "invented.msl" in raised.value.where
