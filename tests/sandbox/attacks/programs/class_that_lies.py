# Raises an error whose class claims to be something else.
class Lie(type):
    def __instancecheck__(cls, instance):
        return False

    __name__ = "passed"


class Trap(Exception, metaclass=Lie):
    __module__ = 3
    __class__ = property(lambda self: None)


raise Trap
