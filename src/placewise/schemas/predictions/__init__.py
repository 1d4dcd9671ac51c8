"""Documents of runs and predictions."""
