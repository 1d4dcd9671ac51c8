"""Forms of a kernel: placements written out, proven and timed."""
