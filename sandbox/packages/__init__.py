"""What programs need: which package provides a module, how it is installed and what is asked."""
