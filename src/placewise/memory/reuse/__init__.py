"""PORPLE's memory engine: reuse distances and transactions from one sampled trace."""
