# Calls itself for ever.
def call():
    return call()


call()
