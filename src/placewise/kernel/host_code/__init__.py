"""Sources with host code beside the kernel, made fit for a compiler of device code."""
