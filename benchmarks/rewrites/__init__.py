"""Random kernels, rewritten in every way and run on inputs that no proof has seen."""
