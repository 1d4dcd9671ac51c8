"""L2: what all SMs miss, its slices, windows and other sizes."""
