"""Advice on layouts: of arrays of structs, of matrices, and of both together with placements."""
