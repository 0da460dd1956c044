# Waits for words from the host.
import sys

assert sys.stdin.read() == ""
input()
