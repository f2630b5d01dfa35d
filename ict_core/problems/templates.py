"""What stands around a problem's prompt for one model, in training and in evaluation alike."""

import pandas as pd

from ict_core.config.models import Template

_PLACE = "{prompt}"


def templated(template: Template | None, prompts: pd.Series) -> pd.Series:
    r"""Each prompt in the model's template; without a template, the prompts themselves.

    Args:
        template: a text that holds ``{prompt}`` once. Nothing else in it or in a prompt is read: braces, as in
            ``\boxed{}``, stay.
        prompts: texts, with any index.
    """
    if template is None:
        return prompts
    before, after = template.template.split(_PLACE)
    return before + prompts + after
