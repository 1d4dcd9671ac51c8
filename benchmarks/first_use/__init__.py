"""Processor time of the first command on a machine, and of the next."""
