"""Laws of a run's log: it has what libraries say, without a flood."""

import logging

import pytest

from tasks.runtime import run_logger
from tasks.runtime.run_logger import libraries_logged


def test_what_libraries_log_stands_in_the_run_s_log_one_of_a_kind_at_a_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "the.run")
    log = logging.getLogger("agents.llm.client")
    with libraries_logged("the.run"):
        for number in range(4):
            if number == 3:
                monkeypatch.setattr(run_logger, "_SAME_S", 0.0)
            log.info("retry %s", number)
        log.warning("no price")
        log.debug("a detail")
        logging.getLogger("elsewhere").warning("not ours")
    log.warning("after the run")
    said = [record.getMessage() for record in caplog.records if record.name == "the.run"]
    assert said == ["retry 0", "retry 3 (and 2 more like it)", "no price"]
