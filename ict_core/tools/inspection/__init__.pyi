from ._cell import inspected as inspected
from ._page import chosen_problems as chosen_problems
from ._page import tokens_page as tokens_page
from ._page import with_rules as with_rules
from ._rollouts import rollouts_page as rollouts_page
