from ._checkpoint import Groups as Groups
from ._checkpoint import GroupSampling as GroupSampling
from ._checkpoint import sample_groups as sample_groups
from ._checkpoint import score_groups as score_groups
from ._checkpoint import side_by_side as side_by_side
from ._score import score_study as score_study
