from ._overlap import COMMON as COMMON
from ._overlap import NGRAM as NGRAM
from ._overlap import SHINGLE as SHINGLE
from ._overlap import SHORTEST as SHORTEST
from ._overlap import SIMILAR as SIMILAR
from ._overlap import audit as audit
