# Leaves no memory for the description of its failure.
import resource

resource.setrlimit(resource.RLIMIT_DATA, (1, resource.getrlimit(resource.RLIMIT_DATA)[1]))
assert False
