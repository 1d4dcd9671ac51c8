"""Sim et al. 2012, which Huang and Li build on and compare with.

T = T_comp + T_mem − T_overlap with executed instructions instead of issued ones, a constant DRAM
latency, and T_overlap = min(T_comp · F_overlap, T_mem) from MWP and CWP (Hong and Kim 2009).
"""

from __future__ import annotations

from placewise.model.huang_li.model import HuangLiModel


def sim_model() -> HuangLiModel:
    """The model as a special case of Huang and Li's: no replays, no queues, overlap by warps."""
    return HuangLiModel("sim", count_replays=False, queue="none")
