"""Which bundled case stands for which kernel of the papers, and the placements they tried."""

from __future__ import annotations

from typing import NamedTuple

PORPLE = {
    "mm": "matmul",
    "trans": "transpose",
    "convolution": "convolution-rows",
    "kmeans": "kmeans",
    "particlefilter": "particlefilter",
    "cfd": "cfd",
    "reduction": "reduction",
    "fft": "fft",
    "scan": "scan",
    "sort": "sort",
    "triad": "triad",
    "md": "md",
    "spmv": "spmv",
    "bfs": "bfs",
    "glassForce": "hourglass-force",
    "glassControl": "hourglass-control",
}
"""Cases by the names of the sixteen kernels of Chen et al. 2017, Table 1, in its order."""

PORPLE_IRREGULAR = (
    "particlefilter", "cfd", "md", "spmv", "bfs", "glassForce", "glassControl",
)  # fmt: skip
"""The kernels that Table 1 calls irregular: their accesses are known at run time only."""

HU_LIU = {
    "Compute_flux_contribution": "cfd",
    "Fan1": "gaussian-fan1",
    "Fan2": "gaussian-fan2",
    "Stencil": "stencil",
}
"""Cases by the names of kernels of Hu and Liu 2015, Tables IV and V."""


class TriedPlacement(NamedTuple):
    """A placement of Huang and Li 2017, Table IV."""

    benchmark: str
    """As the table has it, such as ``SHOC:md``."""
    case: str
    moves: tuple[tuple[str, str, str], ...]
    """(array of the case, from, to): G global, S shared, C constant, T texture, 2T texture in two
    dimensions. From is the paper's; our cases have all arguments in global memory."""
    training: bool
    """Whether it trained the overlap, which makes it no test of the model."""


def _tried(
    benchmark: str, case: str, placements: str, *, training: bool = False
) -> tuple[TriedPlacement, ...]:
    """Placements written as ``array G>T, other G>C; array G>S``."""
    made = []
    for placement in placements.split("; "):
        moves = []
        for move in placement.split(", "):
            array, change = move.split(" ")
            before, after = change.split(">")
            moves.append((array, before, after))
        made.append(TriedPlacement(benchmark, case, tuple(moves), training))
    return tuple(made)


HUANG_LI = (
    *_tried("SHOC:bfs", "bfs", "edges G>T"),
    *_tried("SHOC:fft", "fft", "exchange S>G"),
    *_tried("SHOC:neuralnet", "neuralnet", "weights G>C; weights G>S; weights G>T; weights G>2T"),
    *_tried("SHOC:reduction", "reduction", "partial S>G"),
    *_tried("SHOC:scan", "scan", "in G>2T"),
    *_tried("SHOC:sort", "sort", "block_offsets S>G"),
    *_tried("SHOC:stencil2d", "stencil2d", "data G>T"),
    *_tried("SHOC:md5hash", "md5hash", "found_key G>S"),
    *_tried("SHOC:S3D", "s3d", "p G>T; y G>T; p G>T, y G>T"),
    *_tried(
        "SDK:convol.",
        "convolution-rows",
        "image G>2T; image G>T; taps C>G; taps C>T",
        training=True,
    ),
    *_tried(
        "SHOC:md",
        "md",
        "positions T>G, neighbours G>T; positions T>G; neighbours G>T",
        training=True,
    ),
    *_tried(
        "SDK:matrixMul",
        "matmul",
        "A G>2T, B G>2T; A G>2T; A G>T, B G>2T; B G>2T; A G>T, B G>T; B G>T",
        training=True,
    ),
    *_tried(
        "SHOC:spmv",
        "spmv",
        "row_start G>S, x T>G; row_start G>C, x T>G; row_start G>T, x T>G; row_start G>S; "
        "values G>T, x T>G; row_start G>T, x T>C; "
        "values G>T, columns G>T, row_start G>C, x T>G; values G>T, columns G>T",
        training=True,
    ),
    *_tried("SDK:transpose", "transpose", "in G>2T; in G>T", training=True),
    *_tried("SDK:cfd", "cfd", "variables G>T", training=True),
    *_tried("SHOC:triad", "triad", "b G>S", training=True),
    *_tried("SHOC:QTC", "qtc", "distances G>2T", training=True),
)
"""The placements of Huang and Li 2017, Table IV, that our text of it has, each once."""

PAPERS = {
    "PORPLE": PORPLE,
    "Huang and Li": {tried.benchmark.split(":")[1]: tried.case for tried in HUANG_LI},
    "Hu and Liu": HU_LIU,
}
"""For each paper the cases of its kernels, by its own names for them: Chen et al. 2017 (PORPLE),
Huang and Li 2017, Hu and Liu 2015."""


def papers_of_cases() -> dict[str, tuple[str, ...]]:
    """For each case that stands for a paper's kernel: paper and the kernel's name there."""
    found: dict[str, tuple[str, ...]] = {}
    for paper, kernels in PAPERS.items():
        for kernel, case in kernels.items():
            found[case] = (*found.get(case, ()), f"{paper} {kernel}")
    return found
