# Starts a program with an argument of a hundred megabytes.
import subprocess

subprocess.run(["/bin/true", "x" * 10**8], check=True)
