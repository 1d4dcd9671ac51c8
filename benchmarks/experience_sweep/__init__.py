"""A large sweep that is killed and resumed, and the same tasks on a Dask cluster."""
