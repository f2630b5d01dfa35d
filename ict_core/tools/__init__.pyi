from ._machine_checks import FAULT as FAULT
from ._machine_checks import MACHINE_CHECKS as MACHINE_CHECKS
from ._machine_checks import OK as OK
from ._machine_checks import WARNING as WARNING
from ._machine_checks import Finding as Finding
from ._machine_checks import check_machine as check_machine
from ._machine_checks import sample_one_token as sample_one_token
from ._model_file import model_file as model_file
