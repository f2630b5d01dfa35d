from ._doctor import FAULT as FAULT
from ._doctor import Patient as Patient
from ._doctor import doctor as doctor
from ._model_file import model_file as model_file
