"""Simulates the DRAM's channels, banks and rows."""
