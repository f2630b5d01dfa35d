from ._distributions import SMALLEST_DIVERGENCE as SMALLEST_DIVERGENCE
from ._distributions import jensen_shannon as jensen_shannon
from ._distributions import leave_one_out_mean as leave_one_out_mean
from ._distributions import renyi2_entropy as renyi2_entropy
from ._distributions import shannon_entropy as shannon_entropy
from ._head import Head as Head
