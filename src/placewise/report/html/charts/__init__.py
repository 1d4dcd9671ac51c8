"""What pages draw: where memory accesses go, what caches miss, what warps wait for."""
