"""Python source code by its syntax tree; nothing is imported and nothing runs."""

from infra.languages import Language, languages
from infra.languages.python import (
    control,
    emptying,
    functions,
    mutation,
    scaffolding,
    signature,
    translation,
)


@languages.register("python")
class Python(Language):
    """Python 3, as this interpreter reads it."""

    name = "python"
    functions_of = staticmethod(functions.functions_of)
    translated = staticmethod(translation.translated)
    signature_of = staticmethod(signature.signature_of)
    scaffolded = staticmethod(scaffolding.scaffolded)
    with_beside = staticmethod(scaffolding.with_beside)
    receiver_attributes = staticmethod(scaffolding.receiver_attributes)
    mutants_of = staticmethod(mutation.mutants_of)
    strong_mutants_of = staticmethod(mutation.strong_mutants_of)
    emptied_of = staticmethod(emptying.emptied_of)
    unseen_of = staticmethod(emptying.unseen_of)
    filled_of = staticmethod(emptying.filled_of)
    control_of = staticmethod(control.control_of)
