"""Interpretations of the paper where it is not specific. Every result names the one that was
used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    """One interpretation that the paper's text allows."""

    l2_line_bytes: int = 32
    """Bytes of the line that two accesses must share to be L2-beneficial. Table II has 32; with 128
    the results come near the paper's figures for N-body."""
    charges_uniform: bool = True
    """Whether an access whose lanes all have the same address costs one transaction, or nothing."""

    def describe(self) -> str:
        """The reading in words."""
        uniform = "charged" if self.charges_uniform else "not charged"
        return f"L2 accordance by {self.l2_line_bytes} bytes, uniform accesses {uniform}"


LITERAL = Reading()
"""The literal text of the paper."""
