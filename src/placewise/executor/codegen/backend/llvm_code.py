"""LLVM IR to object code. Needs nothing but llvmlite, so that it also runs as a program of its own:
``python llvm_code.py`` reads a request as JSON and writes the object code."""

from __future__ import annotations

import json
import sys
from typing import Any

import llvmlite.binding as llvm


def target_machine(name: str, features: tuple[str, ...], optimisation: int) -> Any:
    """LLVM's target machine for a processor and an optimisation level from 0 to 3."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=name, features=",".join(features), opt=optimisation, reloc="static", jit=True
    )


def object_code(text: str, name: str, features: tuple[str, ...], optimisation: int) -> bytes:
    """Object code of a module; raises RuntimeError for one that is not valid."""
    machine = target_machine(name, features, optimisation)
    module = llvm.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    # LLVM ends the process over a module that is not valid; this raises instead.
    module.verify()
    _optimise(module, machine)
    return bytes(machine.emit_object(module))


def _optimise(module: Any, machine: Any) -> None:
    """Run a light pipeline of LLVM passes: memory to registers, inlining of helpers, removal of
    dead code."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def _main() -> None:
    request = json.load(sys.stdin)
    code = object_code(
        request["text"], request["name"], tuple(request["features"]), request["optimisation"]
    )
    sys.stdout.buffer.write(code)


if __name__ == "__main__":
    _main()
