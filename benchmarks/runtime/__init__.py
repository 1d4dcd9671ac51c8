"""Tuned programs: the same results, what tuning costs, and what it is predicted to gain."""
