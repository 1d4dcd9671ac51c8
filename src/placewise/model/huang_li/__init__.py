"""Huang and Li 2017, "Performance Modeling for Optimal Data Placement on GPU with Heterogeneous
Memory Systems": a function for each equation, and the model made of them.

| file | equations |
|---|---|
| ``computation`` | 1, 2, 13 to 16: T_comp, as printed and as corrected |
| ``replays`` | 3: issue slots that replays take |
| ``addressing`` | section III-B: instructions that compute an address, by type and memory |
| ``requests`` | 4, 5, 17 to 19: T_mem, AMAT, ITMLP |
| ``banks`` | 6 to 8: requests of each DRAM bank, row-buffer outcomes, service times |
| ``overlap`` | 11, 12: the regression of T_overlap |
| ``model`` | all of it together, each ingredient with a switch (Figs. 7 to 9) |

Equations 9 and 10 are :mod:`placewise.model.queue`; MWP and CWP, which 18 and 19 take from Hong and
Kim 2009, are :mod:`placewise.model.parallelism`.
"""
