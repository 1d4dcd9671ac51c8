"""Simulates the memory system: every access goes through coalescing, L1, L2 and DRAM."""
