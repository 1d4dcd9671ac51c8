"""How the paper is read where it leaves something open; every result names its reading."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """Choices that the paper's text allows."""

    l2_line_bytes: int = 32
    """Line that two accesses must share to be L2-beneficial. Table II has 32; 128 is what the
    figures of N-body come near with."""
    charges_uniform: bool = True
    """Whether an access whose lanes all have one address costs its one transaction."""

    def describe(self) -> str:
        """The reading in words."""
        uniform = "charged" if self.charges_uniform else "not charged"
        return f"L2 accordance by {self.l2_line_bytes} bytes, uniform accesses {uniform}"


LITERAL = Reading()
"""The text as it stands."""
