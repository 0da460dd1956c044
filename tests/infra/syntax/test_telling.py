"""Which functions tell of errors, warnings or what is done, by their names."""

from infra.syntax import is_telling


def test_a_function_is_named_for_errors_or_belongs_to_a_log() -> None:
    for name in [
        "log.info", "self.logger.debug", "console.table", "warnings.warn", "report_error",
        "this.addWarning", "onError", "logMessage", "_log.write", "HTTPError", "err", "log",
    ]:  # fmt: skip
        assert is_telling(name), name


def test_other_functions_are_none() -> None:
    for name in [
        "errors.append", "math.log", "np.log", "Math.log", "login", "catalog.add", "dialog.show",
        "items.push", "terror", "blog.info", "",
    ]:  # fmt: skip
        assert not is_telling(name), name
