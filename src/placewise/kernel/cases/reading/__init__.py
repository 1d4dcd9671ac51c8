"""Values that a case file declares, made: arrays, matrices, sizes."""
