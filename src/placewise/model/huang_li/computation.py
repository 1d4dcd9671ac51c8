"""T_comp and the sum of the parts: Eqs. 1, 2 and 13 to 16 of Huang and Li 2017.

As printed, the "throughput" of Eq. 13 is in cycles per instruction, and Eq. 2 divides by the sum of
it and W_serial: more cycles per instruction, or more serialization, would make the kernel faster.
Sim et al. 2012, the source of both equations, have T_comp = #inst · #warps / #SMs · avg_inst_lat /
ITILP + W_serial. Both readings are here.
"""

from __future__ import annotations


def execution_time(t_comp: float, t_mem: float, t_overlap: float) -> float:
    """T = T_comp + T_mem − T_overlap (Eq. 1), all in one unit of time."""
    return t_comp + t_mem - t_overlap


def effective_throughput_printed(average_latency: float, parallelism: float) -> float:
    """avg_inst_lat / ITILP (Eq. 13 as printed): in truth cycles per warp instruction."""
    return average_latency / parallelism


def effective_throughput(average_latency: float, parallelism: float) -> float:
    """ITILP / avg_inst_lat: warp instructions per cycle of an SM (Eq. 13 as corrected)."""
    return parallelism / average_latency


def itilp(ilp: float, warps: float, most: float) -> float:
    """Inter-thread instruction-level parallelism min(ILP · N, ITILP_max) (Eq. 14): instructions of
    all ``warps`` (N) of an SM that are in its pipelines at once. ``ilp`` is ILP of one warp,
    ``most`` is ITILP_max."""
    return min(ilp * warps, most)


def itilp_max(average_latency: float, warp_size: float, simd_width: float) -> float:
    """avg_inst_lat / (warp_size / SIMD_width) (Eq. 15): number of warp instructions in flight that
    keep all lanes of the SM busy. ``average_latency`` is in cycles, ``simd_width`` is the number of
    lanes of an SM."""
    return average_latency / (warp_size / simd_width)


def serialization(sync: float, special_functions: float, divergence: float) -> float:
    """W_serial = O_sync + O_SFU + O_CFdiv (Eq. 16), in cycles. The paper takes all three to be the
    same in every placement."""
    return sync + special_functions + divergence


def t_comp_printed(
    instructions: float,
    total_warps: float,
    active_sms: float,
    throughput: float,
    w_serial: float,
) -> float:
    """Eq. 2 as printed: #inst · #warps / #SMs · 1 / (throughput + W_serial). ``instructions`` are
    those that a warp issues, including replays; ``throughput`` is Eq. 13 as printed. The result is
    not in a unit of time."""
    return instructions * total_warps / active_sms / (throughput + w_serial)


def t_comp(
    instructions: float,
    total_warps: float,
    active_sms: float,
    throughput: float,
    w_serial: float,
) -> float:
    """Eq. 2 as corrected: #inst · #warps / #SMs / throughput + W_serial, in cycles.
    ``instructions`` are those that a warp issues, including replays; ``throughput`` is the result
    of :func:`effective_throughput`."""
    return instructions * total_warps / active_sms / throughput + w_serial
