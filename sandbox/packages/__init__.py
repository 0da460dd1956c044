"""What a program lacks: which distribution provides a module, and how pip and apt install it."""
