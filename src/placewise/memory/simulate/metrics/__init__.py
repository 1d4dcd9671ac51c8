"""What the simulation counted, under the names of Nsight Compute's metrics."""
