from .comparison.compare import compare as compare
from .errors import UserError as UserError
from .selection.base import Rule as Rule
from .selection.base import TokenBatch as TokenBatch
from .training.choice import Choice as Choice
from .training.select import Selected as Selected
from .training.select import select as select
from .training.trainer import SelectiveGRPOTrainer as SelectiveGRPOTrainer
