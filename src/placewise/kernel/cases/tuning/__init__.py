"""Tuning problems of other tools as cases."""
