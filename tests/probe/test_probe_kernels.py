"""The probe's kernels as machine code: compiled for every target, they hold what they time."""

from functools import cache
from importlib import resources
from itertools import pairwise

import pytest

from placewise.kernel.binary.machine_code import machine_code
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_module
from placewise.probe.target import INSTRUCTIONS, TENSOR, instructions_of

TARGETS = [
    "sm_80",
    *(pytest.param(f"sm_{n}", marks=pytest.mark.slow) for n in (75, 86, 89, 90, 100, 120)),
]
LINKS = 128
LOADS = {
    "global": "LDG",
    "l2": "LDG",
    "readonly": "LDG",
    "texture": "TLD",
    "constant": "LDC",
    "shared": "LDS",
}


@cache
def codes(filename, names, arch):
    source = resources.files("placewise.probe").joinpath("kernels", filename).read_text("utf-8")
    kernels = compile_module(source, filename, names, CompileOptions(arch=arch))
    return {k.name: machine_code(k).instructions for k in kernels}


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("name", [*INSTRUCTIONS, *TENSOR])
def test_a_chain_of_instructions_is_kept(arch, name):
    number = int(arch.removeprefix("sm_"))
    has = instructions_of(divmod(number, 10))
    if name not in has:
        pytest.skip("such a GPU has no such instruction")
    names = tuple(f"latency_{n}" for n in has)
    opcodes = [i.opcode for i in codes("instructions.cu", names, arch)[f"latency_{name}"]]
    assert sum(opcode.startswith(name.replace("_", ".")) for opcode in opcodes) >= LINKS


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("path", LOADS)
def test_one_clock_is_read_after_each_timed_load(arch, path):
    names = tuple(f"chained_{p}" for p in LOADS)
    opcodes = [i.opcode for i in codes("chase.cu", names, arch)[f"chained_{path}"]]
    clocks = [k for k, opcode in enumerate(opcodes) if opcode.startswith("CS2R")]
    assert clocks
    # None through uniform registers, to which the clock comes late.
    assert not [o for o in opcodes if o.startswith("CS2UR")]
    between = [opcodes[a + 1 : b] for a, b in pairwise(clocks)]
    shortest = min(between, key=len)
    assert sum(opcode.startswith(LOADS[path]) for opcode in shortest) == 1
    assert sum(opcode.startswith("STS") for opcode in shortest) >= 1


@pytest.mark.parametrize("arch", TARGETS)
def test_loads_past_l1_are_of_another_kind(arch):
    names = tuple(f"chained_{p}" for p in LOADS)
    kinds = {}
    for path in ("global", "l2"):
        kinds[path] = {
            i.opcode
            for i in codes("chase.cu", names, arch)[f"chained_{path}"]
            if i.opcode.startswith("LDG")
        }
    assert not kinds["global"] & kinds["l2"]


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("width", [4, 8, 16])
def test_shared_loads_are_as_wide_as_asked(arch, width):
    names = tuple(f"bank_latency_{w}" for w in (4, 8, 16))
    opcodes = [i.opcode for i in codes("banks.cu", names, arch)[f"bank_latency_{width}"]]
    loads = [opcode for opcode in opcodes if opcode.startswith("LDS")]
    assert len(loads) >= LINKS
    assert all((".64" in o, ".128" in o) == (width == 8, width == 16) for o in loads)


@pytest.mark.parametrize("arch", TARGETS)
def test_four_vectors_are_under_way_at_a_time(arch):
    (code,) = codes("bandwidth.cu", ("stream_past_l1",), arch).values()
    targets = [str(i.operands[0]) for i in code if i.opcode.startswith("LDG.E.128")]
    assert len(set(targets[:4])) == 4


@pytest.mark.parametrize("arch", TARGETS)
def test_pairs_compile(arch):
    (code,) = codes("pairs.cu", ("pairs",), arch).values()
    assert sum(i.opcode.startswith("LDG") for i in code) >= 6
