from ._cell import inspected as inspected
from ._tokens import chosen_problems as chosen_problems
from ._tokens import tokens_page as tokens_page
from ._tokens import with_rules as with_rules
