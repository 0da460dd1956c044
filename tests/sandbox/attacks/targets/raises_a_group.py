# Raises errors that no handler of ordinary errors catches.
def double(number):
    raise BaseExceptionGroup("group", [KeyboardInterrupt(), SystemExit(0), GeneratorExit()])
