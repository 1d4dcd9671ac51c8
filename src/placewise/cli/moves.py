"""Moves of arrays that a user types on the command line: ``--place x=texture``."""

from __future__ import annotations

from collections.abc import Iterable

from placewise.errors import CaseError


def parse_moves(place: Iterable[str]) -> dict[str, str]:
    """Space by array from texts ``array=space``; raises CaseError for anything else."""
    moves: dict[str, str] = {}
    for text in place:
        array, equals, space = (part.strip() for part in text.partition("="))
        if not (array and equals and space):
            raise CaseError(
                f"'{text}' does not say what moves where",
                where="--place",
                hint="give ARRAY=SPACE, such as x=texture",
            )
        if array in moves:
            raise CaseError(f"'{array}' is moved twice", where="--place")
        moves[array] = space
    return moves
