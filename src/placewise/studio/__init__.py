"""The studio: kernels, placements and machines in a browser, served only to this computer."""
