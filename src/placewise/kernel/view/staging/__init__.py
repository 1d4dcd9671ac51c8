"""Arrays that a kernel's source declares itself: how it fills and uses them."""
