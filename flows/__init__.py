"""The flows, one file each: in which order stages run. ``cli`` is the command line over them."""
