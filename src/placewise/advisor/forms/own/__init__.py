"""Forms that move or pad the arrays that a kernel declares itself."""
