"""When and on which SM each block runs."""
