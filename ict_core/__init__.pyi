from .comparison import compare as compare
from .errors import UserError as UserError
from .selection import Rule as Rule
from .selection import TokenBatch as TokenBatch
from .training import Choice as Choice
from .training import Selected as Selected
from .training import SelectiveGRPOTrainer as SelectiveGRPOTrainer
from .training import select as select
