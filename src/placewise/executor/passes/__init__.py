"""Passes over the warp IR between lowering and code generation."""
