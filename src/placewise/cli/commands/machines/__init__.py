"""Commands about GPUs (figures, probes, clocks) and about this computer's installation."""
