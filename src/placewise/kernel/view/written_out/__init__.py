"""What hides a kernel's arrays, written out in plain expressions that mean the same."""

from placewise.kernel.view.written_out.expanded_macros import expand_macros
from placewise.kernel.view.written_out.inlined_calls import inline_calls
from placewise.kernel.view.written_out.pointer_indices import write_indices
from placewise.kernel.view.written_out.vector_loads import write_vectors

__all__ = ["expand_macros", "inline_calls", "write_indices", "write_vectors"]
