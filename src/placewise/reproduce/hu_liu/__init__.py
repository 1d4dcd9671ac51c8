"""Hu and Liu 2015 recomputed: its tables, and Figs. 4 and 5 over strides and numbers of warps."""
