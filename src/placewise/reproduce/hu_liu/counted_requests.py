"""Requests and transactions of kernels as Hu and Liu 2015 count them, from runs of kernels.

Table III of the paper gives them for kernels of Rodinia. Placewise has kernels of its own that do
the same work; here they run on the model of the paper's GPU, a Tesla M2050.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placewise.cases import load_case
from placewise.cases.papers import HU_LIU
from placewise.kernel.cases.case import Case
from placewise.kernel.cases.make_case import Value, make_case
from placewise.kernel.cases.prepare_case import compile_case, named_case
from placewise.kernel.target import for_machine
from placewise.machine import Machine, load_machine
from placewise.memory.simulate.metrics.traffic import SiteTraffic
from placewise.model.evidence.evidence import evidence_of

MACHINE = "M2050"
"""The paper's GPU: transactions are lines of 128 bytes."""
_STRIDED = """
__global__ void strided(const float *in, float *out, int stride) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    out[thread] = in[thread * stride];
}
"""


@dataclass(frozen=True)
class Counted:
    """Requests of one launch to global memory."""

    case: str
    requests: float
    """Mean requests of a warp."""
    transactions: float
    """Mean transactions of a request."""


def counted_requests() -> dict[str, Counted]:
    """What the bundled cases do that stand for kernels of the paper, by the paper's names."""
    machine = load_machine(MACHINE)
    return {kernel: _count(load_case(name), name, machine) for kernel, name in HU_LIU.items()}


def strided_transactions(strides: Sequence[int], threads: int) -> dict[int, float]:
    """Mean transactions of a load in which neighbouring threads read 4-byte elements that are
    ``stride`` elements apart, for each of the ``strides``."""
    machine = load_machine(MACHINE)
    found = {}
    for stride in strides:
        arguments: dict[str, Value] = {
            "in": np.zeros(threads * stride, np.float32),
            "out": np.zeros(threads, np.float32),
            "stride": np.int32(stride),
        }
        case = make_case("strided", _STRIDED, arguments, grid=threads // 256, block=256)
        sites = [s for s in _sites(case, machine)[0] if s.site.kind == "load"]
        found[stride] = sum(s.lines for s in sites) / sum(s.requests for s in sites)
    return found


def _count(case: Case, name: str, machine: Machine) -> Counted:
    sites, warps = _sites(case, machine)
    requests = sum(s.requests for s in sites)
    return Counted(name, requests / warps, sum(s.lines for s in sites) / requests)


def _sites(case: Case, machine: Machine) -> tuple[list[SiteTraffic], int]:
    """Instructions of ``case`` that access global memory, and the number of its warps."""
    case = named_case(for_machine(case, machine)[0])
    evidence = evidence_of(compile_case(case), case.launch, case.inputs, machine)
    run = evidence.simulated("hu-liu")
    sites = [s for s in run.traffic.sites if s.site.space in ("global", "generic")]
    return sites, run.launch.blocks * run.launch.warps_per_block
