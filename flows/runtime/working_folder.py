"""Settings that the working folder may not decide: a stranger may have made it."""

import os
import tomllib
from contextlib import suppress
from pathlib import Path

from dotenv import dotenv_values

from infra.errors import SettingsError


def refuse_prefect_settings(folder: Path) -> None:
    """Refuse a folder in which Prefect would find settings of its own; called before its import.

    They name the server that gets all logs, and a file of logging, which calls what it names.

    Raises:
        SettingsError: Its `.env`, `prefect.toml` or `pyproject.toml` has some.
    """
    for file in (folder / ".env", folder / "prefect.toml", folder / "pyproject.toml"):
        if not file.is_file():
            continue
        names: list[str] = []
        if file.name == ".env":
            known = dotenv_values(file, interpolate=False)
            names = [name for name in known if name.lower().startswith("prefect")]
        elif file.name == "prefect.toml":
            names = ["prefect.toml"]
        else:
            with suppress(ValueError):  # Prefect passes over it too
                tool = tomllib.loads(file.read_text("utf-8")).get("tool", {})
                names = ["tool.prefect"] if "prefect" in tool else []
        if names:
            raise SettingsError(
                f"{file} has settings of Prefect ({', '.join(names)}), which say what runs and "
                "where logs go: they are not taken from a working folder, so put them into the "
                "environment, and remove them there"
            )


def enter_working_folder() -> None:
    """Go into the folder that COSQA_FOLDER names, where a deployment's run works.

    Prefect has not started the run there: it puts the folder in which it starts one before all
    modules.

    Raises:
        SettingsError: There is no such folder, or it has settings of Prefect.
    """
    folder = Path(os.environ.get("COSQA_FOLDER", ""))
    try:
        os.chdir(folder)
    except OSError as error:
        raise SettingsError(
            f"COSQA_FOLDER, in which this run is to work, is {str(folder)!r}: {error.strerror}; "
            "set it to a folder where `prefect deploy` runs"
        ) from None
    refuse_prefect_settings(Path.cwd())
