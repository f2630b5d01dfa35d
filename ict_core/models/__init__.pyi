from ._fetch import Fetched as Fetched
from ._fetch import checkpoint_sizes as checkpoint_sizes
from ._fetch import doubled_start as doubled_start
from ._fetch import fetch_model as fetch_model
from ._head import lm_head as lm_head
from ._read import check_weights as check_weights
from ._read import read_model as read_model
from ._read import read_tokenizer as read_tokenizer
