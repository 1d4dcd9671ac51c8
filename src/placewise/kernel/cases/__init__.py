"""Cases: a kernel with its launch and inputs, from TOML files, tuning files or Python."""
