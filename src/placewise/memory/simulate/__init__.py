"""The memory system as it would run: every access through coalescing, L1, L2 and DRAM."""
