"""T_mem: Eqs. 4, 5 and 17 of Huang and Li 2017. Eqs. 18 and 19 are in
:mod:`placewise.model.parallelism`."""

from __future__ import annotations


def effective_requests(
    instructions: float, total_warps: float, active_sms: float, parallelism: float
) -> float:
    """#mem_instrs · #warps / (#SMs · ITMLP) (Eq. 17): memory requests of an SM that are served one
    after another. ``instructions`` are a warp's memory instructions, weighted by their size where
    requests of the memories differ in size; ``parallelism`` is ITMLP (Eq. 18)."""
    return instructions * total_warps / (active_sms * parallelism)


def amat(
    dram_latency: float,
    miss_ratio: float,
    hit_latency: float,
    shared_latency: float,
    shared_ratio: float,
) -> float:
    """Average memory access latency (Eq. 5), in the unit of the latencies: DRAM_lat · miss_ratio
    + hit_lat + shmem_lat · shmem_ratio. ``miss_ratio`` is that of L2, over all requests."""
    return dram_latency * miss_ratio + hit_latency + shared_latency * shared_ratio


def t_mem(requests: float, latency: float) -> float:
    """Effective memory requests per SM · AMAT (Eq. 4), in the unit of ``latency``."""
    return requests * latency
