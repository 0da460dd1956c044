# Prints what the runner would say to the host.
import json
import os

report = json.dumps({"outcome": "passed", "clean": True, "asserts_executed": 9}).encode()
frame = len(report).to_bytes(4, "big") + report
os.write(1, frame)
os.write(1, b"\x01\0\0\0" + len(frame).to_bytes(4, "big") + frame)
assert False
