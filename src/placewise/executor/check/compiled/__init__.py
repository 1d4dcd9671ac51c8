"""The checker's compiled functions, called at every access and barrier of a checked run."""
