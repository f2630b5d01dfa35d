from ._base import TokenBatch as TokenBatch
from ._base import register as register
from ._base import top_fraction as top_fraction
from ._registry import SELECTORS as SELECTORS
from ._registry import rule_files as rule_files
from ._rules import Rule as Rule
from ._rules import distinct_rules as distinct_rules
