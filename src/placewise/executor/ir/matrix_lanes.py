"""Which lane holds which element of a matrix instruction's operands.

``mma.sync`` fragments are as the PTX ISA draws them ("Matrix Fragments for mma.m16n8k16" and its
neighbours), which one rule covers: with g = lane / 4 and t = lane % 4, a register of A holds
consecutive k of row g of an 8-row tile, one of B consecutive k of column g of an 8-column tile, and
two neighbouring registers of C columns 2t and 2t + 1 of row g. Tiles of A come in pairs (rows g and
g + 8) before the next stretch of k. ``wmma`` leaves its fragments open; here they follow the same
rule, with registers repeated where the fragment has more than the matrix needs.
"""

from __future__ import annotations

from dataclasses import dataclass

ELEMENT_BITS = {
    "f64": 64,
    "tf32": 32,
    "f32": 32,
    "s32": 32,
    "f16": 16,
    "bf16": 16,
    "s8": 8,
    "u8": 8,
    "e4m3": 8,
    "e5m2": 8,
    "s4": 4,
    "u4": 4,
    "b1": 1,
}


def register_bits(type_: str) -> int:
    """Bits of a register that holds elements of a type."""
    return 64 if type_ == "f64" else 32


def elements_per_register(type_: str) -> int:
    """Elements that one register of A or B holds."""
    return register_bits(type_) // ELEMENT_BITS[type_]


@dataclass(frozen=True)
class Mma:
    """D = A B + C for a whole warp: A (m, k), B (k, n), C and D (m, n); m and n multiples of 8.

    Products are exact. With f32 accumulators they are added in ascending k, each rounded to nearest
    (a fused multiply-add); f16 accumulators do the same in single precision and are rounded once
    at the end; f64 ones are chains of fused multiply-adds; integers wrap, or saturate at the end.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str
    d: str
    operation: str = ""
    """How one-bit matrices combine, before ones are counted: ``xor`` or ``and``; else empty."""
    saturate: bool = False

    @property
    def k_parts(self) -> int:
        """Registers along k of one 8-row tile."""
        return self.k // (4 * elements_per_register(self.a))

    @property
    def a_registers(self) -> int:
        return self.m // 8 * self.k_parts

    @property
    def b_registers(self) -> int:
        return self.n // 8 * self.k_parts

    def accumulators(self, type_: str) -> int:
        """Registers of C or D (two halves share one)."""
        each = 2 if type_ == "f16" else 1
        return self.m // 8 * (self.n // 8) * 2 // each

    def a_index(self, tile: int, part: int) -> int:
        """Register of A for an 8-row tile and a stretch of k."""
        if self.m == 8:
            return part
        return tile // 2 * 2 * self.k_parts + 2 * part + tile % 2

    def b_index(self, tile: int, part: int) -> int:
        """Register of B for an 8-column tile and a stretch of k."""
        return tile * self.k_parts + part

    def c_index(self, row_tile: int, column_tile: int) -> int:
        """Number of the first of the two elements of C that a lane holds of an 8 by 8 tile."""
        pair = 2 if self.m > 8 else 1
        columns = self.n // 8
        return 2 * ((row_tile // pair * columns + column_tile) * pair + row_tile % pair)
