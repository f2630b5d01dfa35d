"""The frames of a token study: what every rule does with the tokens of untrained models, by prompt."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from ict_core.config.study import Study
from ict_core.evaluation.generate import stop_token_ids
from ict_core.evidence.measures import single_logit_frames
from ict_core.models.read import read_tokenizer
from ict_core.selection.base import distinct_rules
from ict_core.shadow.prompts import Prompts
from ict_core.shadow.texts import token_texts
from ict_core.statistics.intervals import over_seeds
from ict_core.statistics.schemas import STATISTICS
from ict_core.store import records
from ict_core.store.files import hash_weights
from ict_core.store.layout import BASE_VARIANT, TOKEN_FRAMES, StudyFiles
from ict_core.store.manifests import manifest, remember_source, write_manifest

_PAPER = "js"  # the score whose sorted values are shown


def write_token_frames(study: Study, results: Path) -> None:
    """Write the frames of a study's token study in `results`; in them a prompt's number takes the place of a seed."""
    remember_source()
    rules = distinct_rules(study.methods)
    study_files = StudyFiles(results)
    files = study_files.token_study
    problems = records.read_frame(study_files.eval_problems, records.PROBLEMS)
    paper = next((rule.name for rule in rules if rule.parameters.get("score") == _PAPER), None)
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in ("quantities", "overlap", "curves", "texts", "tokens")}
    facts: dict[str, dict[str, object]] = {}
    for model in study.models:
        checkpoint = study_files.base_model(model, study.first_base(model).seed)
        tokens_file, rollouts = study_files.rollout_tokens(model), study_files.rollouts(model)
        tokens = records.read_frame(tokens_file, records.TOKENS)
        scored = Prompts.of(tokens, rules, study.data.seed)
        shares = _carried(records.read_frame(study_files.rollout_gradients(model), records.GRADIENT_SHARES), problems)
        frames = {
            "quantities": pd.concat([scored.quantities(), shares]),
            "overlap": scored.overlaps().assign(variant=BASE_VARIANT),
            "texts": token_texts(scored, read_tokenizer(checkpoint), stop_token_ids(checkpoint)),
            "tokens": tokens.assign(variant=BASE_VARIANT, seed=tokens["group"]),
        }
        if paper is not None:
            frames["curves"] = scored.curves(paper).assign(variant=paper)
        for name, frame in frames.items():
            parts[name].append(frame.assign(model=model))
        facts[model] = {
            "model_sha256": hash_weights(checkpoint),
            "tokens_sha256": records.content_hash(tokens_file),
            "rollouts_sha256": records.content_hash(rollouts),
            "tokens": len(tokens),
            "prompts": int(tokens["group"].nunique()),
        }
    combined = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items() if frames}
    _write(files, combined)
    write_manifest(files.settings, study.stage_config("evidence"))
    inputs = {"stage": "token_study", "models": facts}
    write_manifest(files.manifest, manifest(study.stage_config("token_study")) | inputs)
    print(f"{len(rules)} rules on {len(combined['tokens'])} tokens of {combined['tokens']['group'].nunique()} prompts")


def _write(files: StudyFiles, whole: Mapping[str, pd.DataFrame]) -> None:
    quantities = whole["quantities"]
    means = over_seeds(quantities, ["model", "variant", "quantity"])
    single_logit, bins = single_logit_frames(whole["tokens"])
    curves = whole.get("curves", pd.DataFrame(columns=list(STATISTICS["curves"])))
    frames = dict(zip(TOKEN_FRAMES, (quantities, means, curves, single_logit, bins), strict=True))
    for name, frame in frames.items():
        records.write_frame(frame[list(STATISTICS[name])], files.statistics(name), STATISTICS[name])
    records.write_frame(whole["overlap"][list(records.STUDY_OVERLAP)], files.frame("overlap"), records.STUDY_OVERLAP)
    records.write_frame(whole["texts"][list(records.TOKEN_TEXTS)], files.token_texts, records.TOKEN_TEXTS)


def _carried(gradients: pd.DataFrame, problems: pd.DataFrame) -> pd.DataFrame:
    """The gradients' shares as quantities, by the number of the prompt."""
    number = problems[["benchmark", "problem"]].reset_index(names="seed")
    rows = gradients.merge(number, on=["benchmark", "problem"], validate="many_to_one")
    rows = rows.rename(columns={"rule": "variant"})
    return rows.melt(["seed", "variant"], ["norm_share", "cosine"], var_name="quantity")
