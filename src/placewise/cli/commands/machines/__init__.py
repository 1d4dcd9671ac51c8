"""Commands about GPUs: their figures, probes, clocks, and this machine's state."""
