"""Which fields of which elements warps access, and what a layout's groups cost for that."""

from placewise.memory.fields.group_cost import FieldCosts, field_costs, summed_costs
from placewise.memory.fields.record import FieldAccesses, FieldRecorder, LineUse

__all__ = ["FieldAccesses", "FieldCosts", "FieldRecorder", "LineUse", "field_costs", "summed_costs"]
