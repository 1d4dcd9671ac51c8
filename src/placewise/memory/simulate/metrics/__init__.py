"""The simulation's counts under the names of Nsight Compute's metrics."""
