"""Index expressions as polynomials, their values and bounds."""
