"""Every table by its name, read without importing the modules that make them."""

from pathlib import Path

from ict_core.evidence import read_declarations
from ict_core.tables._declaration import Declaration

DECLARED = read_declarations(Path(__file__).parent, "TABLE", Declaration)
"""The name is that of the module here that makes it."""
TABLES = {name: table for name, table in DECLARED.items() if table.place is not None}
"""Those of the report, in its order."""
INPUTS = tuple(dict.fromkeys(["scores", "levels", *(frame for table in TABLES.values() for frame in table.inputs)]))
"""The frames that they are made from; notices need the scores."""
