# Backtracks for longer than the universe will last.
import re

re.match(r"(a+)+$", "a" * 64 + "b")
