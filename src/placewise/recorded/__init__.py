"""Readers of what others measured: profiler counters, tuning results, mt4g topologies."""
