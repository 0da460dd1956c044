# Makes each test add another one.
def test_1():
    globals()[f"test_{len(globals())}"] = type(test_1)(test_1.__code__, globals())


for number in range(5000):
    globals()[f"test_{number}_"] = type(test_1)(test_1.__code__, globals())
assert len(globals()) > 5000
