"""One launch at run time: arguments, workers, trace buffers, faults."""
