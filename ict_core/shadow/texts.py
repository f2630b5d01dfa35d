"""Which tokens, as text, a rule keeps and drops: shares with intervals for new prompts."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint
from transformers import PreTrainedTokenizerBase

from ict_core.shadow.prompts import Prompts
from ict_core.store import records

LEAST_TOKENS, LEAST_PROMPTS = 20, 5  # of a text that is reported
FORM_WORDS = frozenset(
    """a about above across after again all also although am an and another any anyone anything are around as at
    away be because been before being below between both but by can cannot could did do does doing down during each
    either else even ever every everyone everything few first for from had has have having he her here hers him his
    how however i if in into is it its itself just let like many may me might more most much must my neither no none
    nor not nothing now of off on once one only or other others our ours out over own per same shall she should since
    so some someone something still such than that the their theirs them then there therefore these they this those
    though through thus till to too toward towards under until up upon us very was we were what when where whether
    which while who whom whose why will with within without would yet you your yours""".split()  # noqa: SIM905
)
"""English words of the closed classes: articles, pronouns, prepositions, conjunctions, auxiliaries, particles."""

CLASSES = ("content word", "form word", "piece of a word", "number", "sign", "space or line", "end of the answer")


def word_class(text: str, before: str, special: bool) -> str:
    """The class (one of :data:`CLASSES`) of a token, from its text and that of the token before it.

    Letters that continue the word of the token before are a piece of a word. A word's first token counts as the whole
    word, so that a longer word that begins like a form word counts as a form word.
    """
    if special:
        return "end of the answer"
    word = text.strip()
    if not word:
        return "space or line"
    if re.fullmatch(r"[\d.,]*\d[\d.,]*", word):
        return "number"
    if not any(character.isalpha() for character in word):
        return "sign"
    if text[0].isalpha() and before[-1:].isalpha():
        return "piece of a word"
    return "form word" if word.lower() in FORM_WORDS else "content word"


def token_text(tokenizer: PreTrainedTokenizerBase, number: int) -> str:
    """A token's text, with the blank before a word that SentencePiece strips."""
    text = str(tokenizer.decode([number], clean_up_tokenization_spaces=False))
    begins = str(tokenizer.convert_ids_to_tokens(number)).startswith("▁")
    return f" {text}" if begins and not text.startswith(" ") else text


def text_or_name(tokenizer: PreTrainedTokenizerBase, number: int) -> str:
    """A token's text; for a token that is only a part of a character, its name in the vocabulary."""
    text = token_text(tokenizer, number)
    return str(tokenizer.convert_ids_to_tokens(number)) if "\ufffd" in text else text


def shown(text: str) -> str:
    """A token's text with its blanks, line ends and unprintable characters made visible."""
    marked = text.replace("\n", "↵").replace("\t", "⇥").replace(" ", "·")
    return "".join(c if c.isprintable() else f"⟨{ord(c):04X}⟩" for c in marked) or "(empty)"


def token_texts(prompts: Prompts, tokenizer: PreTrainedTokenizerBase, stops: Sequence[int]) -> pd.DataFrame:
    """The share of a token's or a word class's occurrences that every rule keeps: `records.TOKEN_TEXTS`, no model.

    Tokens with :data:`LEAST_TOKENS` occurrences in :data:`LEAST_PROMPTS` prompts or more; every class that occurs. A
    rule that keeps all tokens selects none and is left out, and so is a rule that weighs tokens.
    """
    rows = prompts.rows
    ids = rows["token"].to_numpy()
    spellings = {int(i): text_or_name(tokenizer, int(i)) for i in np.unique(ids)}
    texts = [spellings[int(i)] for i in ids]
    first = rows["position"].to_numpy() == 0
    before = ["" if is_first else previous for is_first, previous in zip(first, ["", *texts[:-1]], strict=True)]
    classes = [word_class(*token) for token in zip(texts, before, np.isin(ids, list(stops)), strict=True)]
    words = ["(end)" if kind == CLASSES[-1] else shown(text) for text, kind in zip(texts, classes, strict=True)]
    frames = []
    for kind, labels in (("token", words), ("class", classes)):
        counts = pd.DataFrame({"text": labels, "group": rows["group"].to_numpy()})
        for rule, weights in zip(prompts.rules, prompts.weights, strict=True):
            kept = weights == 1
            if kept.all() or not np.isin(weights, (0, 1)).all():
                continue
            shares = kept_shares(counts.assign(kept=kept))
            frames.append(shares.assign(rule=rule.name, kind=kind, lift=shares["share"] / kept.mean()))
    columns = [name for name in records.TOKEN_TEXTS if name != "model"]
    if not frames:
        return pd.DataFrame(columns=columns)
    table = pd.concat(frames, ignore_index=True)
    frequent = (table["tokens"] >= LEAST_TOKENS) & (table["prompts"] >= LEAST_PROMPTS) | (table["kind"] == "class")
    return table.loc[frequent, columns].reset_index(drop=True)


def kept_shares(tokens: pd.DataFrame) -> pd.DataFrame:
    """The share of each text's occurrences that is kept, with a 95 % interval for new prompts, a row per text.

    The columns of ``tokens`` are text, group (the prompt) and kept. The interval is Wilson's with an effective number
    of occurrences (Korn and Graubard 1998, who use it with Clopper's and Pearson's): p (1 - p) over the share's
    variance between prompts, at most the actual number. If all or none are kept, it is the number of prompts.
    """
    cells = tokens.groupby(["text", "group"], sort=True)["kept"].agg(["sum", "count"]).astype(np.float64)
    total = cells.groupby(level="text").sum()
    share = total["sum"] / total["count"]
    residual = cells["sum"] - cells["count"] * share.reindex(cells.index, level="text")
    prompts = cells.groupby(level="text").size()
    squares: pd.Series = residual.pow(2).groupby(level="text").sum()
    spread = squares / total["count"] ** 2 * prompts / (prompts - 1).clip(lower=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = (share * (1 - share) / spread).clip(upper=total["count"])
    varies = (share > 0) & (share < 1) & (prompts > 1) & np.isfinite(effective)
    number = effective.where(varies, prompts.astype(np.float64)).to_numpy()
    low, high = proportion_confint(share.to_numpy() * number, number, method="wilson")
    table = {"tokens": total["count"].astype(int), "prompts": prompts, "share": share, "low": low, "high": high}
    return pd.DataFrame(table).rename_axis("text").reset_index()
