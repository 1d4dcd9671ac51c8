"""Instructions to address an element, against listings read by eye."""

from dataclasses import replace

import pytest

from placewise.errors import UnsupportedError
from placewise.machine import load_machine
from placewise.model.huang_li.addressing import (
    MEMORIES,
    Addressing,
    addressing,
    instruction_difference,
)
from placewise.model.huang_li.latency import arithmetic_latency, compiled_latency


def test_float_on_ampere():
    """nvdisasm for sm_86: ``IMAD.WIDE R2, R2, R3, c[0x0][0x170]`` before LDG with R3 = 4 from a
    constant move; ``TLD R0`` and ``LDS [R0.X4]`` take the index as it is; ``SHF.L.U32 R0, R0, 0x2``
    before LDC."""
    found = {m: addressing("sm_86", "float", m) for m in MEMORIES}
    assert found["global"] == Addressing(per_access=1, once=1)
    assert found["texture"] == Addressing(per_access=0, once=0)
    assert found["constant"] == Addressing(per_access=1, once=0)
    assert found["shared"] == Addressing(per_access=0, once=0)


def test_shared_memory_of_hopper_has_a_base_in_a_register():
    """sm_90: ``S2UR, UMOV, ULEA`` make the window's base, ``LEA R0, R0, UR4, 0x2`` the address."""
    assert addressing("sm_90", "float", "shared") == Addressing(per_access=1, once=3)


def test_textures_have_no_doubles():
    assert addressing("sm_86", "double", "texture") is None


def test_difference_between_memories():
    assert instruction_difference("sm_86", "float", "global", "texture") == -1
    assert instruction_difference("sm_86", "float", "shared", "constant") == 1
    assert instruction_difference("sm_86", "unsigned short", "texture", "global") == 1


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_latency_of_arithmetic_is_what_the_compiler_waits(arch):
    """Four cycles since Volta (Jia et al. 2018, table 4.1; 2019, of Turing)."""
    assert compiled_latency(arch) == 4.0


def test_latency_of_a_machine_without_machine_code_must_be_given():
    fermi = load_machine("M2075")
    assert arithmetic_latency(load_machine("A4000")) == 4.0
    assert arithmetic_latency(fermi) == 22.0
    with pytest.raises(UnsupportedError, match="latency of FFMA"):
        arithmetic_latency(replace(fermi, pipes=()))
