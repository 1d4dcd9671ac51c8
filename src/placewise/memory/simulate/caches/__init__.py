"""Simulates the caches of SMs and of the whole GPU, access by access."""
