"""Laws of the keys under which the Prefect UI shows artifacts."""

from tasks.runtime.artifacts import artifact_key


def test_names_become_keys_that_prefect_takes() -> None:
    assert artifact_key("funnel", "Python Source (3.11)") == "funnel-python-source-3-11"
    assert artifact_key("judged", "ümläut_x") == "judged-ml-ut-x"
    assert artifact_key("judged", "…") == "judged-unnamed"
