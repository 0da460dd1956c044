"""Packages for programs: names of modules' packages, and pip under guard, which fetches them."""
