"""Predictions for a kernel as it is or with given moves: counters, times, machine code."""
