from ._answer import LANDING as LANDING
from ._answer import landing as landing
from ._build import write_report as write_report
from ._claims import claims_beside as claims_beside
from ._claims import claims_page as claims_page
from ._claims import page as page
from ._notebook import execute as execute
