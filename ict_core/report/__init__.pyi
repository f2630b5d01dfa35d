from ._build import write_report as write_report
from ._claims import claims_beside as claims_beside
from ._claims import claims_page as claims_page
from ._claims import page as page
from ._notebook import execute as execute
from ._paper import PAPER_FIGURES as PAPER_FIGURES
from ._paper import paper_figures as paper_figures
from ._tokens import write_token_pages as write_token_pages
