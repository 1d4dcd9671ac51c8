"""Published tuning problems, read as cases."""
