"""One kernel in several placements; the host program chooses among them while it runs.

The placement-agnostic form of PORPLE-C (Chen et al. 2017, section 4 and Fig. 6): coarse-grained
versions, a whole kernel for each of a few placements, and one fine-grained kernel in which every
access looks up the memory of its array.
"""

from placewise.rewriter.agnostic.form import AgnosticForm, write_agnostic

__all__ = ["AgnosticForm", "write_agnostic"]
