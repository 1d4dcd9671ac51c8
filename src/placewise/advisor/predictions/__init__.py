"""Predictions without a question of placement: counters, times, machine code."""
