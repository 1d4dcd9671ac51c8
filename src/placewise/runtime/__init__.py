"""A runtime that places arrays while a program runs: :func:`placewise.tune`."""
