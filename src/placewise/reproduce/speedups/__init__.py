"""Section 5 of Chen et al. 2017 (PORPLE) recomputed: what choosers of placements gain."""
