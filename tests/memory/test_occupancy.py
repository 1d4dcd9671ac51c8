"""Occupancy against values worked by hand from NVIDIA's rules."""

from dataclasses import replace

import pytest

from placewise.kernel.launch import Launch
from placewise.machine.load import load_machine
from placewise.memory.occupancy import allocation_rules, occupancy


def _blocks(machine, threads, registers, shared=0):
    launch = Launch((100, 1, 1), (threads, 1, 1))
    return occupancy(launch, machine, registers=registers, shared_bytes=shared)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "blocks", "binding"),
    [
        # 2048 / 256 threads; 32 registers * 32 lanes = 1024 a warp, 64 warps in 65536.
        (256, 32, 0, 8, ("threads", "registers")),
        # 33 * 32 = 1056 → 1280 a warp; a partition of 16384 holds 12, the SM 48, that is 6 blocks.
        (256, 33, 0, 6, ("registers",)),
        # 255 * 32 = 8160 → 8192 a warp; 2 a partition, 8 an SM, one block of 8 warps.
        (256, 255, 0, 1, ("registers",)),
        # 40 KB and the reserved 1 KB of 164 KB.
        (256, 16, 40 * 1024, 4, ("shared memory",)),
        # 32 blocks of one warp leave half the warps empty.
        (32, 16, 0, 32, ("blocks",)),
        # 1024 threads and 65 registers: 65 * 32 = 2080 → 2304 > 65536 / 32 warps.
        (1024, 65, 0, 0, ("registers",)),
        # 100 threads are 4 warps: 64 / 4.
        (100, 16, 0, 16, ("threads",)),
    ],
)
def test_a100(threads, registers, shared, blocks, binding):
    found = _blocks(load_machine("A100"), threads, registers, shared)
    assert (found.blocks, found.binding) == (blocks, binding)
    assert found.warps == blocks * -(-threads // 32)


def test_kepler_has_no_reserved_shared_memory():
    # 48 KB / 6 KB; 6144 is a multiple of 256.
    assert _blocks(load_machine("K20c"), 64, 16, 6 * 1024).blocks == 8


def test_fermi_gives_registers_to_warps_in_64s():
    k20 = load_machine("K20c")
    fermi = replace(
        k20,
        limits=replace(
            k20.limits,
            compute_capability=(2, 0),
            registers_per_sm=32768,
            max_threads_per_sm=1536,
            max_blocks_per_sm=8,
        ),
    )
    # 25 * 32 = 800 → 832 a warp; 16384 // 832 = 19 in each half, 38 in all; 8 warps a block.
    assert dict(_blocks(fermi, 256, 25).limits)["registers"] == 4


def test_tesla_gives_registers_to_blocks_in_512s():
    k20 = load_machine("K20c")
    tesla = replace(
        k20,
        limits=replace(
            k20.limits,
            compute_capability=(1, 3),
            registers_per_sm=16384,
            max_threads_per_sm=1024,
            max_blocks_per_sm=8,
            max_registers_per_thread=124,
        ),
    )
    # 5 warps count as 6: 6 * 32 * 13 = 2496 → 2560; 16384 // 2560 = 6.
    assert dict(_blocks(tesla, 160, 13).limits)["registers"] == 6


def test_unknown_registers_do_not_limit():
    assert "registers" not in dict(_blocks(load_machine("A100"), 256, None).limits)


def test_too_large_a_block_does_not_fit():
    assert _blocks(load_machine("A100"), 1024, 16).blocks == 2
    assert _blocks(load_machine("A100"), 256, 16, 164 * 1024).blocks == 0


def test_later_capabilities_follow_the_latest_known():
    assert allocation_rules((12, 0)) == allocation_rules((9, 0))
