"""Finding out how an unknown machine's memories are built, from timed pointer chases."""

from placewise.probe.chase import Chase, ProbeDevice, Timings
from placewise.probe.infer.hierarchy import Hierarchy, Plan, infer_hierarchy
from placewise.probe.infer.structure import Structure

__all__ = [
    "Chase",
    "Hierarchy",
    "Plan",
    "ProbeDevice",
    "Structure",
    "Timings",
    "infer_hierarchy",
]
