from ._arithmetic import fork_tokens as fork_tokens
from ._corpus import evaluation_problems as evaluation_problems
from ._corpus import pretraining_documents as pretraining_documents
from ._corpus import training_problems as training_problems
from ._problems import TEMPLATE as TEMPLATE
from ._tokenizer import train_tokenizer as train_tokenizer
