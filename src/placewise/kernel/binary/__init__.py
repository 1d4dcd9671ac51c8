"""What a cubin holds: resources, machine code, line table."""
