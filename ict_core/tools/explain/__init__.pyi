from ._explain import explain as explain
from ._numbers import chosen_row as chosen_row
from ._numbers import claims_of as claims_of
from ._numbers import table_of as table_of
