# Makes a sparse file of a terabyte.
import os

file = os.open("/tmp/sparse", os.O_WRONLY | os.O_CREAT)
os.ftruncate(file, 2**40)
