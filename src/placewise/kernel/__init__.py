"""A kernel and its launch: source, compiler, PTX, arguments, and the view of its arrays."""
