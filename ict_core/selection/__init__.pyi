from ._base import Rule as Rule
from ._base import TokenBatch as TokenBatch
from ._base import controlled as controlled
from ._base import distinct_rules as distinct_rules
from ._base import effective_share as effective_share
from ._base import top_fraction as top_fraction
from ._registry import SELECTORS as SELECTORS
from ._registry import rule_files as rule_files
