"""Profiles by active learning beside full ones: histograms, and the placements chosen by them."""
