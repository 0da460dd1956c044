"""Packages for programs: names of modules' packages, their installation and requests."""
