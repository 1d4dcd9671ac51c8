"""The user's source as libclang sees it: accesses, obstacles and per-block tiles."""

from placewise.kernel.view.analyse import analyse_source, bound_case

__all__ = ["analyse_source", "bound_case"]
