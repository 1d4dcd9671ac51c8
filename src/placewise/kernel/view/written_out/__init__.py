"""What hides a kernel's arrays, written out in plain expressions that mean the same."""
