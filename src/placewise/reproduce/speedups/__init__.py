"""Section 5 of Chen et al. 2017 (PORPLE) recomputed: gains of several ways to choose placements."""
