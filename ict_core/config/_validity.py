"""`evidence.validity` of a study's file: the gates that tell whether the study can tell, declared before the runs."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ict_core.config._section import Name, Section, is_absent
from ict_core.config.mistakes import Fault, refused

Points = Annotated[float, Field(ge=0, lt=100)]


class Validity(Section):
    """The arms and bounds of the gates; none of the arms is a rule under test. Points are percent points.

    A gate whose arms no model ran is not measured.
    """

    baseline: Name  # the method that trains every token
    replica: Name  # the same with other random numbers
    random: Name  # tokens at random
    oracle: Name  # a rule that must win if selection can matter
    oracle_control: Name  # as many tokens at random
    gain_points: Points  # pass@1 of the baseline less its base model's: at least
    gain_lower_points: Points  # and the lower limit of its interval above
    ceiling_percent: Annotated[float, Field(gt=0, le=100)]  # the highest pass@1 that a model could reach
    below_ceiling_points: Points  # pass@1 of the baseline lies at least so far below it
    kept_share: Annotated[float, Field(ge=0, le=1)]  # of the baseline's gain that random tokens keep: at least
    kept_share_lower: Annotated[float, Field(ge=0, le=1)]  # and the lower limit of its interval above
    compared: Literal["pass@1", "pass@4"]  # of replica and oracle, the metric in which rules are compared
    headroom_points: Points | None = Field(  # room in pass@4 that a base model leaves on every benchmark of the average
        default=None, exclude_if=is_absent
    )

    def faults(self) -> Iterator[Fault]:
        for key, of in (("gain_lower_points", "gain_points"), ("kept_share_lower", "kept_share")):
            lower, bound = getattr(self, key), getattr(self, of)
            if lower > bound:
                yield refused(key, lower, f"at most {of}, {bound:g}")
        if self.below_ceiling_points >= self.ceiling_percent:
            allowed = f"less than ceiling_percent, {self.ceiling_percent:g}"
            yield refused("below_ceiling_points", self.below_ceiling_points, allowed)
