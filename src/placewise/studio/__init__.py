"""The studio: kernels, placements and machines in a browser, served to this computer alone."""
