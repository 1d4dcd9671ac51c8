"""One file for each command of ``placewise``."""
