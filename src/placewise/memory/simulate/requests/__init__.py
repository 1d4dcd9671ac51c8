"""Splits warp accesses into the line requests that each sends to its first cache."""
