# Opens a file whose name is a hundred megabytes long.
open("/tmp/" + "x" * 10**8, "w")
