from ._build import write_report as write_report
from ._claims import claims_page as claims_page
from ._notebook import execute as execute
from ._page import page as page
