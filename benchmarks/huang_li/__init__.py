"""Placements' times predicted from one measured sample by the model of Huang and Li 2017."""
