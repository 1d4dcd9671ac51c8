"""Which part of a launch is traced, and how well it stands for the whole."""
