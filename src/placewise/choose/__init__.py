"""Legal placements, and the search for the best of them."""

from placewise.choose.chunked import chunked_placements
from placewise.choose.legality import Choice, Legality, in_words, legal_spaces
from placewise.choose.search import Candidate, combinations, judged, search

__all__ = [
    "Candidate",
    "Choice",
    "Legality",
    "chunked_placements",
    "combinations",
    "in_words",
    "judged",
    "legal_spaces",
    "search",
]
