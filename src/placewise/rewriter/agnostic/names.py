"""Identifiers that the versions of one kernel and their host code use."""

from __future__ import annotations

import re
from dataclasses import dataclass

from placewise.kernel.cases.case import Case
from placewise.kernel.view.tree.template import base_name


@dataclass(frozen=True)
class AgnosticNames:
    """Names that begin with the kernel's name, so that one program can contain several such
    kernels."""

    prefix: str
    """``spmv``, or ``spmv_placed`` where the source uses such names already."""
    kernel: str
    """The kernel's name without namespace and template arguments."""
    arguments: str
    """Template arguments with their brackets, ``<float>``; empty for a plain kernel."""

    @property
    def memory_type(self) -> str:
        """The enumeration of memories."""
        return f"{self.prefix}_memory"

    @property
    def memory_of(self) -> str:
        """The array in constant memory with the memory of each array (PORPLE's ``memSpace``)."""
        return f"{self.prefix}_memory_of"

    @property
    def offset_of(self) -> str:
        """The array in constant memory with each array's first byte in its buffer (PORPLE's
        ``soffset``)."""
        return f"{self.prefix}_offset_of"

    @property
    def constants(self) -> str:
        """The buffer in constant memory that all versions share (PORPLE's ``cBuffer``)."""
        return f"{self.prefix}_constants"

    @property
    def tiles(self) -> str:
        """The dynamic shared buffer of the fine-grained kernel (PORPLE's ``sBuffer``)."""
        return f"{self.prefix}_tiles"

    @property
    def any_kernel(self) -> str:
        """The fine-grained kernel."""
        return f"{self.prefix}_any"

    def version(self, number: int) -> str:
        """The kernel of a coarse-grained version, counted from 1."""
        return f"{self.prefix}_v{number}"

    def space(self, name: str) -> str:
        """The enumerator of a memory space."""
        return f"{self.prefix}_in_{name}"

    def array(self, name: str) -> str:
        """The enumerator that stands for an array's number."""
        return f"{self.prefix}_array_{name}"

    def selector(self, array: str) -> str:
        """The expression in the kernel whose value is the memory of an array."""
        return f"{self.memory_of}[{self.array(array)}]"


def agnostic_names(case: Case) -> AgnosticNames:
    """Names for the forms of ``case``'s kernel that its source does not use."""
    kernel = base_name(case.kernel).split("::")[-1]
    arguments = case.kernel[case.kernel.index("<") :] if "<" in case.kernel else ""
    taken = set(re.findall(r"[A-Za-z_]\w*", case.source))
    prefix = kernel
    while any(name.startswith(f"{prefix}_") for name in taken):
        prefix += "_placed" if prefix == kernel else "_"
    return AgnosticNames(prefix, kernel, arguments)
