# Reads from address nought.
import ctypes

ctypes.string_at(0)
