"""Where kernels run: on the CPU executor, or on a GPU in the user's own context."""
