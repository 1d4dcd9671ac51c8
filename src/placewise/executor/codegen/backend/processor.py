"""The processor that code is generated for."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import llvmlite.binding as llvm


@dataclass(frozen=True)
class Processor:
    """A processor as LLVM names it."""

    name: str
    features: tuple[str, ...]
    """Instruction sets and other features, each with a + or - before it."""

    @property
    def avx512(self) -> bool:
        """Whether it has vectors of 512 bits with lane masks for every operation."""
        return all(f"+avx512{x}" in self.features for x in ("f", "bw", "dq", "vl"))

    @property
    def slow_gather(self) -> bool:
        """Whether loading elements one by one is faster than its gather instruction."""
        return self.name.startswith("znver")

    @property
    def key(self) -> str:
        """All that code for this processor depends on, LLVM's version included."""
        triple = llvm.get_default_triple()
        return f"{llvm.llvm_version_info} {triple} {self.name} {','.join(self.features)}"


@functools.cache
def this_processor() -> Processor:
    """The processor of the computer that runs the program."""
    features = llvm.get_host_cpu_features()
    return Processor(llvm.get_host_cpu_name(), tuple(features.flatten().split(",")))
