"""Progress on standard error, so that standard output stays clean."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

FIRST_RUN = (
    "First run on this machine: compiling the simulator for this processor. "
    "This takes up to a minute; later runs use the result."
)


class StepProgress:
    """Context manager whose ``step`` is a progress callback. It shows a progress bar on a terminal,
    else prints a line for each step."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._last = ""
        self._open = ExitStack()

    def __enter__(self) -> StepProgress:
        # Imported here, since commands without the simulator would have to load Numba, which is
        # slow.
        from placewise.compiled_code import told_of_compiling

        self._open.enter_context(told_of_compiling(self._say_first_run))
        if self._console.is_terminal and not self._quiet:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TimeElapsedColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()
        if self._bar is not None:
            self._bar.stop()

    def _say_first_run(self) -> None:
        if not self._quiet:
            self._console.print(FIRST_RUN, highlight=False)

    def step(self, what: str, done: int, total: int) -> None:
        """Show that ``what`` is under way, ``done`` of ``total`` (0: unknown)."""
        if self._quiet:
            return
        if self._bar is None:
            if what != self._last:
                self._console.print(f"{what} …", highlight=False)
        elif self._task is None or what != self._last:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=total or None, completed=done)
        else:
            self._bar.update(self._task, total=total or None, completed=done)
        self._last = what
