"""Facts about a launch and about the kernel that it launches."""
