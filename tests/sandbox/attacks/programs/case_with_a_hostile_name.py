# Has a test case that leaves with success when it is asked for its name.
import os
import unittest


class Case(unittest.TestCase):
    def test_it(self):
        self.assertEqual(1, 2)

    def id(self):
        os._exit(0)
