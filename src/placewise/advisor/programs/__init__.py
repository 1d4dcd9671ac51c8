"""Advice for programs: several launches that share arrays, searched together."""
