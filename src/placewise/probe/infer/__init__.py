"""From timed accesses to the structure of caches, TLBs, DRAM and shared memory."""
