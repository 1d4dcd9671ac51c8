"""What is known of a launch, and of the kernel that it launches."""
