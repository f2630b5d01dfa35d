"""Executes a notebook on one study's results."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from ict_core.errors import UserError, one_line
from ict_core.store.files import write_text

STORED, RESULTS = "ICT_STORED", "ICT_RESULTS"  # the environment variables by which a notebook finds its study
SECONDS = 600  # the most that one cell may take


def execute(notebook: Path, stored: Path, results: Path) -> None:
    """Execute a notebook in its own folder and write it with its outputs into `results`.

    The notebook reads the folders of the study's stored files and results from the variables `STORED` and `RESULTS`.

    Raises:
        UserError: there is no notebook, or a cell failed; the message has its last line.
    """
    try:
        content = nbformat.read(notebook, as_version=4)
    except (OSError, ValueError, RecursionError, AttributeError, nbformat.ValidationError) as error:
        raise UserError(f"{notebook}: no notebook can be read there: {type(error).__name__}: {error}") from None
    os.environ |= {STORED: str(stored.resolve()), RESULTS: str(results.resolve())}
    client = NotebookClient(
        content,
        timeout=SECONDS,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as error:
        raise UserError(f"{notebook}: a cell failed: {error.ename}: {error.evalue}") from error
    except (CellTimeoutError, DeadKernelError) as error:
        raise UserError(f"{notebook}: {one_line(error)}") from error
    write_text(results / notebook.name, nbformat.writes(content) + "\n")
