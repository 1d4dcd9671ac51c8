"""How many warps access memory at once: MWP and CWP of Hong and Kim 2009, and quantities that Sim
et al. 2012 derive from them.

All times are cycles of the SM's clock, bandwidths bytes per such cycle.
"""

from __future__ import annotations


def bandwidth_per_warp(bytes_per_warp: float, memory_latency: float) -> float:
    """Bytes per cycle that one warp draws with one request at a time (Hong and Kim 2009, Eq. 8:
    BW_per_warp = frequency · load_bytes_per_warp / Mem_L; per cycle, the frequency is 1)."""
    return bytes_per_warp / memory_latency


def mwp_peak_bandwidth(
    bandwidth: float, bytes_per_warp: float, memory_latency: float, active_sms: float
) -> float:
    """Warps of one SM that the memory's bandwidth (bytes per cycle, whole device) can serve at once
    (Hong and Kim 2009, Eq. 6: mem_bandwidth / (BW_per_warp · active SMs))."""
    return bandwidth / (bandwidth_per_warp(bytes_per_warp, memory_latency) * active_sms)


def mwp(
    memory_latency: float, departure_delay: float, peak_bandwidth: float, active_warps: float
) -> float:
    """Memory warp parallelism: warps of an SM that can access memory during one warp's wait
    (Hong and Kim 2009, Eq. 5: min(Mem_L / departure delay, MWP_peak_bw, N)). ``departure_delay`` is
    the least time between two warps' requests, in cycles; never below 1 warp."""
    return max(1.0, min(memory_latency / departure_delay, peak_bandwidth, active_warps))


def cwp(memory_cycles: float, computation_cycles: float, active_warps: float) -> float:
    """Computation warp parallelism: warps that can compute during one warp's wait, plus that warp
    (Hong and Kim 2009, Eqs. 1 and 2: min((mem + comp) / comp, N))."""
    if computation_cycles <= 0.0:
        return active_warps
    return min((memory_cycles + computation_cycles) / computation_cycles, active_warps)


def mwp_cp(memory: float, computation: float) -> float:
    """Warps whose requests are outstanding at once, given ``memory`` (MWP) and ``computation``
    (CWP): min(max(1, CWP − 1), MWP) (Sim et al. 2012; Huang and Li 2017, Eq. 19)."""
    return min(max(1.0, computation - 1.0), memory)


def itmlp(mlp: float, outstanding: float, peak_bandwidth: float) -> float:
    """Inter-thread memory-level parallelism: requests of an SM in service at once,
    min(MLP · MWP_cp, MWP_peak_bw) (Sim et al. 2012; Huang and Li 2017, Eq. 18). ``mlp`` is how many
    requests one warp has in flight."""
    return min(mlp * outstanding, peak_bandwidth)


def overlap_of_warps(memory: float, computation: float, active_warps: float) -> float:
    """F_overlap of Sim et al. 2012: the share of T_comp that waiting can hide, (N − ζ) / N with
    ζ = 1 where CWP ≤ MWP (the last warp computes alone), else 0."""
    zeta = 1.0 if computation <= memory else 0.0
    return (active_warps - zeta) / active_warps
