"""Programs written out, and the proof that runs them in sequence."""

from dataclasses import replace

import numpy as np
import pytest

from placewise import KernelLaunch, load_machine, make_program
from placewise.advisor.programs.chain import run_chain
from placewise.advisor.programs.copies import fills
from placewise.advisor.programs.joint_search import Combination, KernelForm
from placewise.advisor.programs.written_program import prove, write_program
from placewise.errors import UnsupportedError
from placewise.model import SAME
from placewise.space import Placement

SOURCE = """
__global__ void use(const float *w, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = w[threadIdx.x % 4] * x[i] + y[i];
}
__global__ void change(float *w) { w[threadIdx.x] += 1.0f; }
"""
MACHINE = load_machine("A100")
USE = KernelLaunch("use", ["w", "x", "y"], grid=2, block=32)
CHANGE = KernelLaunch("change", ["w"], grid=1, block=4)


def written(*launches, placement, rounds=3):
    values = {
        "w": np.arange(1, 5, dtype=np.float32),
        "x": np.arange(64, dtype=np.float32),
        "y": np.zeros(64, np.float32),
    }
    steps = run_chain(make_program(SOURCE, values, launches, rounds=rounds), MACHINE)
    moved = Placement(tuple(placement.items()))
    numbers = [s.number for s in steps if s.function == "use"]
    form = KernelForm("use", moved, tuple((n, None) for n in numbers), (1, 1))
    constant = frozenset("w" if placement.get("w") == "constant" else "")
    copies = fills(steps, dict.fromkeys(numbers, constant), rounds, MACHINE)
    chosen = Combination((form,), copies, 1.0, SAME)
    return steps, write_program(steps, chosen, rounds, MACHINE)


@pytest.mark.parametrize("order", [(USE, CHANGE), (CHANGE, USE), (USE, CHANGE, USE)])
@pytest.mark.parametrize("placement", [{"w": "constant"}, {"x": "texture", "w": "constant"}])
def test_copies_bring_what_other_launches_wrote(order, placement):
    steps, program = written(*order, placement=placement)
    found = prove(steps, program, 3, 10**6)
    assert found.identical, found.detail
    assert found.arrays == ("w", "y")
    assert "over 2 rounds" in found.detail


def test_a_copy_that_is_missing_is_found():
    steps, program = written(USE, CHANGE, placement={"w": "constant"})
    never = replace(program, fills=tuple(replace(f, before=()) for f in program.fills))
    found = prove(steps, never, 3, 10**6)
    assert not found.identical
    assert "y differs" in found.detail


def test_the_host_copies_on_the_device_in_every_round():
    _, program = written(USE, CHANGE, placement={"w": "constant"})
    lines = [line.strip() for line in program.host.splitlines()]
    loop = lines[lines.index("for (int round = 0; round < 3; round++) {") :]
    assert loop[1].startswith("cudaMemcpyToSymbolAsync(w_const, w, 16, 0, cudaMemcpyDeviceToDevice")
    assert [x.split(">>>")[1] for x in loop[2:4]] == ["(x, y);", "(w);"]
    assert not any("w_host" in line for line in lines)


def test_launches_of_one_kernel_that_need_different_texts_are_refused():
    wide = replace(USE, grid=1, block=64)
    with pytest.raises(UnsupportedError, match="a version of their own"):
        written(USE, wide, placement={"x": "shared"})
