"""Writes output arrays of a run to NumPy files: all of them, or none."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from placewise.errors import PlacewiseError
from placewise.executor.run_case import CaseRun
from placewise.report.advice.files import check_file, check_folder


def check_targets(folder: Path | None, file: Path | None) -> None:
    """Raises PlacewiseError where the outputs could not be written; creates nothing."""
    if folder is not None:
        check_folder(folder)
    if file is not None:
        if file.suffix != ".npz":
            raise PlacewiseError(
                "the file of all outputs ends in .npz", where=str(file), hint=f"{file.stem}.npz"
            )
        check_file(file)


def write_outputs(run: CaseRun, folder: Path | None, file: Path | None) -> tuple[Path, ...]:
    """Write the arrays that the kernel stored to: one .npy each into ``folder``, all to ``file``.

    Returns the files. Raises PlacewiseError where they cannot be written.
    """
    arrays = {
        re.sub(r"\W", "_", name): data
        for name, data in run.execution.outputs
        if name in run.execution.written
    }
    written: list[Path] = []
    target = folder or file
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=folder, prefix=".placewise-") as staging:
                for name, data in arrays.items():
                    target = folder / f"{name}.npy"
                    np.save(Path(staging) / target.name, data, allow_pickle=False)
                    written.append(target)
                for target in written:
                    (Path(staging) / target.name).replace(target)
        if file is not None:
            target = file
            file.parent.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=file.parent, prefix=".placewise-") as staging:
                np.savez(Path(staging) / file.name, allow_pickle=False, **arrays)
                (Path(staging) / file.name).replace(file)
            written.append(file)
    except OSError as error:
        raise PlacewiseError(
            f"cannot be written: {error.strerror or error}", where=str(target)
        ) from error
    return tuple(written)
