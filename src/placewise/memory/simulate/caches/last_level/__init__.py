"""Simulates L2: the requests that all SMs miss, its slices, access policy windows and other
sizes."""
