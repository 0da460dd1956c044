"""Other people's evaluation suites: readers of their files, and their own figures.

Each file here knows one suite: what its files look like and how its authors compute its figures. A
file that is not as they publish it is refused with its name and line.
"""
