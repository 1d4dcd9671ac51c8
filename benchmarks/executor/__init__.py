"""What the executor must show: speed, latency, memory, and that nothing takes Python down."""
