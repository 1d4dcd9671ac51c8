"""The static cost of a data layout (Peng, Grossman and Sarkar 2016, sections III and IV)."""

from placewise.model.static_layout.cost import (
    WEIGHTS,
    CacheLevels,
    CostVector,
    Weights,
    dynamic_cost,
    static_cost,
)
from placewise.model.static_layout.reading import LITERAL, Reading
from placewise.model.static_layout.terms import (
    blocks_per_sm,
    instruction_distance,
    is_accordant,
    transactions,
)

__all__ = [
    "LITERAL",
    "WEIGHTS",
    "CacheLevels",
    "CostVector",
    "Reading",
    "Weights",
    "blocks_per_sm",
    "dynamic_cost",
    "instruction_distance",
    "is_accordant",
    "static_cost",
    "transactions",
]
