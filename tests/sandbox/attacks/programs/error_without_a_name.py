# Raises an error whose class has no name that can be read.
import os


class Meta(type):
    @property
    def __name__(cls):
        os._exit(0)


class Error(Exception, metaclass=Meta):
    pass


raise Error
