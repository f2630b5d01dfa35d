from ._arithmetic import fork_tokens as fork_tokens
from ._decisions import decision_tokens as decision_tokens
from ._problems import TEMPLATE as TEMPLATE
from ._problems import evaluation_problems as evaluation_problems
from ._problems import pretraining_documents as pretraining_documents
from ._problems import training_problems as training_problems
from ._tokenizer import train_tokenizer as train_tokenizer
