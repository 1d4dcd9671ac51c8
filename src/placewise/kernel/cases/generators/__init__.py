"""Seeded generators of the data that kernels on matrices, graphs, meshes and atoms need: the same
on every machine, so that no files have to be kept."""
