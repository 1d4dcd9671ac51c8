"""Simulated device memory: address space, arrays, module variables, textures."""
