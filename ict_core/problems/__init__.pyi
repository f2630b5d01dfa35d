from ._assemble import benchmark_problems as benchmark_problems
from ._assemble import check_study_access as check_study_access
from ._assemble import solved_problems as solved_problems
from ._assemble import study_problems as study_problems
from ._templates import templated as templated
