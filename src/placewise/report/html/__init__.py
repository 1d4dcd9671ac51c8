"""HTML reports: one file each with all its data, script and style, which loads nothing from the
network."""
