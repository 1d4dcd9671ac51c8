"""Placewise: where should each array of a CUDA kernel live, on this GPU?"""
