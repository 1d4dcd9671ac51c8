"""HTML reports: one file each, with its data, script and style, and without any address outside."""
