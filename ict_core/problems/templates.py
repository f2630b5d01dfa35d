"""What stands around a problem's prompt for one model, in training and in evaluation alike."""

import pandas as pd

from ict_core.config.inputs import Template


def templated(template: Template | None, prompts: pd.Series) -> pd.Series:
    r"""Each prompt in place of ``{prompt}`` in the model's template; without one, the prompts themselves.

    Nothing else in a template or a prompt is read: braces, as in ``\boxed{}``, stay.
    """
    if template is None:
        return prompts
    before, after = template.template.split("{prompt}")
    return before + prompts + after
