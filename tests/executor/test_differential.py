"""Executor and reference interpreter agree bit for bit, on results and on every address."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from constructs import CONSTRUCTS, SCHEDULED
from hypothesis import HealthCheck, given, settings
from programs import kernels
from reference import interpret

from placewise.executor import execute, lane_offsets
from placewise.kernel.cases.case import CompileOptions
from placewise.kernel.frontends.nvrtc import compile_kernel
from placewise.kernel.launch import (
    ArrayArgument,
    Inputs,
    Launch,
    ScalarArgument,
    TextureArgument,
)

TARGETS = ("sm_75", "sm_80", "sm_90", "sm_120")


@dataclass
class Addresses:
    """A trace expanded to (line, where, block, thread, offset, bytes) per lane, counted."""

    found: Counter = field(default_factory=Counter)

    def begin(self, sites, arrays):
        self.sites = sites
        self.arrays = arrays

    def chunk(self, chunk):
        lanes = np.arange(32)
        every = lane_offsets(chunk)
        for i in range(len(chunk.site)):
            site = self.sites[chunk.site[i]]
            offsets = every[i]
            array = chunk.array[i]
            where = self.arrays[array] if array >= 0 else None
            for lane in lanes[(int(chunk.mask[i]) >> lanes & 1) == 1]:
                self.found[
                    site.ptx_line,
                    where,
                    int(chunk.block[i]),
                    int(chunk.warp[i]) * 32 + int(lane),
                    int(offsets[lane]),
                    site.lane_bytes,
                ] += 1


def expected_addresses(accesses):
    """The reference's accesses in the same form; shared and local memory have no name there."""
    return Counter(
        (a.line, None if a.where in ("shared", "local") else a.where, *a[2:]) for a in accesses
    )


def canonical(array):
    """Bytes with every NaN the same: PTX leaves its payload open."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.array(np.nan, array.dtype), array)
    return array.tobytes()


def without(addresses, arrays):
    return Counter({a: n for a, n in addresses.items() if a[1] not in arrays})


def check(source, launch, inputs, arch, *, kernel="k", trace=True, retried=()):
    """Run both on one kernel and compare all they say.

    ``retried`` names arrays that are accessed until it succeeds, which depends on the schedule.
    """
    compiled = compile_kernel(source, "k.cu", kernel, CompileOptions(arch=arch))
    reference = interpret(compiled, launch, inputs)
    addresses = Addresses()
    run = execute(
        compiled, launch, inputs, consumer=addresses if trace else None, instruction_limit=1 << 22
    )
    for name, expected in reference.outputs.items():
        assert canonical(run.output(name)) == canonical(expected), name
    if trace:
        assert without(addresses.found, retried) == without(
            expected_addresses(reference.accesses), retried
        )


def agree(kernel, arch):
    check(kernel.source, kernel.launch, kernel.inputs, arch, retried=("peaks",))


relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("arch", TARGETS)
def test_random_kernels(arch):
    @settings(relaxed, max_examples=3, derandomize=True, database=None)
    @given(kernels(arch))
    def run(kernel):
        agree(kernel, arch)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("arch", TARGETS)
def test_many_random_kernels(arch):
    @settings(relaxed, max_examples=150)
    @given(kernels(arch))
    def run(kernel):
        agree(kernel, arch)

    run()


def argument(name, value):
    if isinstance(value, np.ndarray):
        return ArrayArgument(name, value)
    if isinstance(value, tuple):
        return TextureArgument(name, value[1])
    return ScalarArgument(name, value)


@pytest.mark.parametrize(
    "arch", ["sm_80", *(pytest.param(a, marks=pytest.mark.slow) for a in ("sm_90", "sm_120"))]
)
@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(name, arch):
    source, launch, values, constants = CONSTRUCTS[name]
    arguments = tuple(argument(n, v) for n, v in values.items())
    inputs = Inputs(arguments, constants)
    check(source, Launch(*launch), inputs, arch, trace=name not in SCHEDULED)
