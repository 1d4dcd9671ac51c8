"""The path model's ratio of two placements against the ratio of two measured times."""
