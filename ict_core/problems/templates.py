"""The template around a problem's prompt for one model, the same in training and in evaluation."""

import pandas as pd

from ict_core.config.inputs import Template


def templated(template: Template | None, prompts: pd.Series) -> pd.Series:
    r"""The model's template with each prompt in place of ``{prompt}``; without a template, the prompts themselves.

    Nothing else in a template or a prompt is interpreted: braces, as in ``\boxed{}``, stay.
    """
    if template is None:
        return prompts
    before, after = template.template.split("{prompt}")
    return before + prompts + after
