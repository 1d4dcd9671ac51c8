"""DRAM channels, banks and rows behind the caches."""
