"""What lies behind the caches: DRAM banks and address translation."""
