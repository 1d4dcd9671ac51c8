"""The kernel's syntax tree, as libclang parses it."""
