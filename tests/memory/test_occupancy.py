"""Occupancy against values worked by hand from NVIDIA's rules."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from placewise.executor import execute
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import ArrayArgument, Inputs, Launch, ScalarArgument
from placewise.machine.load import load_machine
from placewise.memory.occupancy import allocation_rules, occupancy

NO_LIMIT = 2**31 - 1
"""What NVIDIA's calculator says of a resource that is not used."""


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
    assert allocation_rules((13, 0)) == allocation_rules((12, 0))


@pytest.mark.parametrize(
    ("capability", "threads", "registers", "shared", "barriers", "blocks", "binding"),
    [
        # Kepler GK210: 131072 registers an SM. 64 * 32 = 2048 a warp; a partition of 32768 holds
        # 16, the SM 64 warps: 8 blocks of 8 warps, as many as 2048 threads allow.
        ((3, 7), 256, 64, 0, 0, 8, ("threads", "registers")),
        # The same on GK110 with its 65536: 8 warps a partition, 32 an SM.
        ((3, 5), 256, 64, 0, 0, 4, ("registers",)),
        # A block gets 65536 registers at most: 65 * 32 = 2080 → 2304 a warp, * 32 warps > 65536.
        ((3, 7), 1024, 65, 0, 0, 0, ("registers",)),
        # 112 KB / 14 KB.
        ((3, 7), 64, 16, 14 * 1024, 0, 8, ("shared memory",)),
        # Blackwell GB20x has 24 barriers for its 24 blocks: 2 barriers a block leave 12 blocks.
        ((12, 0), 32, 16, 0, 2, 12, ("barriers",)),
        # H100 has 64 for its 32 blocks.
        ((9, 0), 32, 16, 0, 2, 32, ("blocks", "barriers")),
        # 48 KB + 1 KB of the system's, of 100 KB.
        ((8, 9), 128, 16, 48 * 1024, 1, 2, ("shared memory",)),
        # H100: (227 + 1) KB are all of it.
        ((9, 0), 1024, 16, 227 * 1024, 1, 1, ("shared memory",)),
    ],
)
def test_worked_by_hand(capability, threads, registers, shared, barriers, blocks, binding):
    found = occupancy(
        Launch((100, 1, 1), (threads, 1, 1)),
        _machine(capability),
        registers=registers,
        shared_bytes=shared,
        barriers=barriers,
    )
    assert (found.blocks, found.binding) == (blocks, binding)


# Compute capability: threads, blocks, registers and KB of shared memory of an SM, KB of a block.
# CUDA C++ Programming Guide 12.9 and 13, "Technical Specifications per Compute Capability"; 11.8
# for Kepler.
SPECIFICATIONS = {
    (3, 5): (2048, 16, 65536, 48, 48),
    (3, 7): (2048, 16, 131072, 112, 48),
    (5, 0): (2048, 32, 65536, 64, 48),
    (5, 2): (2048, 32, 65536, 96, 48),
    (6, 0): (2048, 32, 65536, 64, 48),
    (6, 1): (2048, 32, 65536, 96, 48),
    (7, 0): (2048, 32, 65536, 96, 96),
    (7, 5): (1024, 16, 65536, 64, 64),
    (8, 0): (2048, 32, 65536, 164, 163),
    (8, 6): (1536, 16, 65536, 100, 99),
    (8, 7): (1536, 16, 65536, 164, 163),
    (8, 9): (1536, 24, 65536, 100, 99),
    (9, 0): (2048, 32, 65536, 228, 227),
    (10, 0): (2048, 32, 65536, 228, 227),
    (10, 3): (2048, 32, 65536, 228, 227),
    (12, 0): (1536, 24, 65536, 100, 99),
    (12, 1): (1536, 24, 65536, 100, 99),
}


def _machine(capability):
    threads, blocks, registers, shared_sm, shared_block = SPECIFICATIONS[capability]
    a100 = load_machine("A100")
    limits = replace(
        a100.limits,
        compute_capability=capability,
        max_threads_per_sm=threads,
        max_blocks_per_sm=blocks,
        registers_per_sm=registers,
        shared_bytes_per_sm=shared_sm * 1024,
        shared_bytes_per_block=shared_block * 1024,
    )
    return replace(a100, limits=limits)


def test_nvidia_s_own_calculator_agrees():
    """cuda_occupancy.h of the CUDA toolkit, run by the executor, on random launches."""
    random = np.random.default_rng(12)
    capabilities = list(SPECIFICATIONS)
    per_capability = 150
    questions = np.zeros((len(capabilities) * per_capability, 13), np.int32)
    for row, question in enumerate(questions):
        capability = capabilities[row // per_capability]
        threads, _, registers, shared_sm, shared_block = SPECIFICATIONS[capability]
        question[:9] = (
            *capability,
            threads,
            allocation_rules(capability).max_registers_per_block,
            registers,
            48 * 1024,
            shared_block * 1024,
            shared_sm * 1024,
            1024 if capability >= (8, 0) else 0,
        )
        question[9:] = (
            random.choice([random.integers(1, 1025), 32 * random.integers(1, 33)]),
            random.integers(1, 256),
            random.choice([0, random.integers(0, 4096), random.integers(0, 240 * 1024)]),
            random.choice([0, 1, random.integers(0, 17)]),
        )
    source = Path(__file__).with_name("nvidia_occupancy.cu")
    kernel = compile_kernel(source.read_text(), str(source), "ask", CompileOptions())
    answers = np.zeros((len(questions), 7), np.int32)
    result = execute(
        kernel,
        Launch((-(-len(questions) // 128), 1, 1), (128, 1, 1)),
        Inputs(
            (
                ArrayArgument("questions", questions.reshape(-1)),
                ArrayArgument("answers", answers.reshape(-1)),
                ScalarArgument("n", np.int32(len(questions))),
            )
        ),
    )
    answers = result.output("answers").reshape(answers.shape)
    launchable = 0
    for question, answer in zip(questions, answers, strict=True):
        capability = (int(question[0]), int(question[1]))
        block, registers, shared, barriers = map(int, question[9:])
        status, blocks, *limits = map(int, answer)
        assert status == 0
        found = occupancy(
            Launch((100, 1, 1), (block, 1, 1)),
            _machine(capability),
            registers=registers,
            shared_bytes=shared,
            barriers=barriers,
        )
        assert found.blocks == blocks, (question, answer, found)
        ours = dict(found.limits)
        names = ("threads", "blocks", "registers", "shared memory", "barriers")
        assert [ours.get(name, NO_LIMIT) for name in names] == limits, question
        launchable += blocks > 0
    assert launchable > len(questions) // 3
