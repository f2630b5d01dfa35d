"""A model's file written from its checkpoint: one that `fetch_model` takes, with what a person should look at."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer, GPTNeoXConfig, GPTNeoXForCausalLM

from ict_core.commands.cli import main
from ict_core.config.inputs import HubModel, LocalModel
from ict_core.config.load import load_model, load_study
from ict_core.errors import UserError
from ict_core.models.fetch import fetch_model
from ict_core.store.manifests import write_manifest
from ict_core.tools.model_file import model_file

COMMIT = "a1" * 20
STUDIES = Path(__file__).resolve().parents[2] / "configs/studies"


@pytest.fixture
def repository(tmp_path, tiny_checkpoint):
    """A repository with a checkpoint in it."""
    (tmp_path / "configs/models").mkdir(parents=True)
    shutil.copytree(tiny_checkpoint, tmp_path / "checkpoints/tiny")
    return tmp_path


def test_a_folder_s_file_is_one_that_the_checkpoint_fits(repository):
    path, remarks = model_file(str(repository / "checkpoints/tiny"), "mine", repository)
    model = load_model(path)
    assert isinstance(model, LocalModel) and model.path == "checkpoints/tiny"
    config = json.loads((repository / "checkpoints/tiny/config.json").read_text())
    sizes = (config["hidden_size"], config["num_hidden_layers"])
    assert (model.architecture.hidden_size, model.architecture.layers) == sizes
    fetch_model(model, path.name, repository, {}, repository / "out")
    tokenizer = AutoTokenizer.from_pretrained(repository / "checkpoints/tiny")
    assert tokenizer.eos_token_id in model.stop_ids
    assert tokenizer.eos_token in next(remark for remark in remarks if remark.startswith("stop_ids"))
    generation = repository / "checkpoints/tiny/generation_config.json"
    for odd in ({"a": 1}, [[1], 7]):
        generation.write_text(json.dumps({"eos_token_id": odd}))
        stops = load_model(model_file(str(generation.parent), f"odd-{len(odd)}", repository)[0]).stop_ids
        assert set(stops) == {*model.stop_ids, *([7] if 7 in odd else [])}


def test_the_prompt_is_the_chat_template_with_a_place_for_the_question(repository):
    folder = repository / "checkpoints/tiny"
    (folder / "chat_template.jinja").write_text(
        "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    path, remarks = model_file(str(folder), "chat", repository)
    assert load_model(path).prompt.template == "<user>{prompt}</><assistant>"
    assert any("<user>{prompt}</><assistant>" in remark for remark in remarks)
    (folder / "chat_template.jinja").write_text("🤗 {{ messages[0]['content'] }}")
    assert load_model(model_file(str(folder), "hugging", repository)[0]).prompt.template == "🤗 {prompt}"
    (folder / "chat_template.jinja").write_text("{{ raise_exception('only with a system prompt') }}")
    path, remarks = model_file(str(folder), "stubborn", repository)
    assert load_model(path).prompt is None
    assert any("only with a system prompt" in remark for remark in remarks)


@pytest.mark.parametrize("stage", ["base", "train"])
def test_a_checkpoint_of_a_model_that_a_study_pretrained_has_no_prompt(repository, stage):
    study = load_study(STUDIES / "smoke.yaml")
    cell = study.cells()[0]
    config = study.resolve(cell) if stage == "train" else study.stage_config(stage, study.base_of(cell))
    folder = repository / "results/checkpoint"
    shutil.copytree(repository / "checkpoints/tiny", folder)
    (folder / "chat_template.jinja").write_text("<user>{{ messages[0]['content'] }}</>")
    write_manifest(folder / "manifest.json", {"config": config})
    assert load_model(model_file(str(folder), "made", repository)[0]).prompt is None


@pytest.mark.parametrize("stage", ["base", "supervised_start", "train"])
def test_a_checkpoint_of_a_study_has_the_study_s_prompt_if_its_manifest_states_one(repository, stage):
    """A training's states it, and that of a base model as it was fetched does not."""
    study = load_study(STUDIES / "smollm2-one-step.yaml")
    cell = study.cells()[0]
    config = (
        study.with_rate(cell, 1e-5).resolve(cell)
        if stage == "train"
        else study.stage_config(stage, study.base_of(cell))
    )
    folder = repository / "results/checkpoint"
    shutil.copytree(repository / "checkpoints/tiny", folder)
    (folder / "chat_template.jinja").write_text("<user>{{ messages[0]['content'] }}</>")
    write_manifest(folder / "manifest.json", {"config": config})
    prompt = load_model(model_file(str(folder), "made", repository)[0]).prompt
    own = study.models[cell.model].prompt.template
    assert prompt.template == ("<user>{prompt}</>" if stage == "base" else own)


def change(file, **values):
    """Other values of a file of JSON."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"intermediate_size": 0}, "no model that a study"),
        ({"num_attention_heads": 3}, "no model that a study"),
        ({"intermediate_size": None}, "cannot be read"),
    ],
)
def test_a_model_that_a_study_cannot_state_gets_no_file(repository, values, message):
    folder = repository / "checkpoints/tiny"
    change(folder / "config.json", **values)
    with pytest.raises(UserError, match=message) as told:
        model_file(str(folder), "odd", repository)
    assert str(told.value).count("\n") == 0 and not (repository / "configs/models/odd.yaml").exists()


def starting(folder):
    """The tokenizer puts its start token before every text, as Llama's and Gemma's do, and its template writes it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    start, number = tokenizer.eos_token, tokenizer.eos_token_id
    processor = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": start, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {start: {"id": start, "ids": [number], "tokens": [start]}},
    }
    change(folder / "tokenizer.json", post_processor=processor)
    change(folder / "tokenizer_config.json", bos_token=start)
    (folder / "chat_template.jinja").write_text("{{ bos_token }}{% for m in messages %}{{ m['content'] }}{% endfor %}")
    return start


def test_a_start_token_that_the_tokenizer_adds_is_no_part_of_the_prompt(repository):
    folder = repository / "checkpoints/tiny"
    start = starting(folder)
    path, remarks = model_file(str(folder), "starts", repository)
    assert load_model(path).prompt.template == "{prompt}"
    assert any(f"without the template's {start}" in remark for remark in remarks)
    fetch_model(load_model(path), path.name, repository, {}, repository / "once")
    path.write_text(path.read_text().replace('"{prompt}"', json.dumps(start + "{prompt}")))
    with pytest.raises(UserError, match="would have it twice"):
        fetch_model(load_model(path), path.name, repository, {}, repository / "twice")


def test_sizes_that_a_family_names_otherwise_and_what_training_refuses_are_told(repository):
    folder = repository / "checkpoints/tiny"
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48}
    config = GPTNeoXConfig(**sizes, vocab_size=352, max_position_embeddings=64, tie_word_embeddings=False)
    GPTNeoXForCausalLM(config).save_pretrained(folder)
    path, remarks = model_file(str(folder), "neox", repository)
    model = load_model(path)
    assert model.architecture.kv_heads == 2
    fetch_model(model, path.name, repository, {}, repository / "out")
    assert not any("packed" in remark for remark in remarks)
    change(folder / "config.json", attn_logit_softcapping=3.0)
    assert any("State passes: dense" in remark for remark in model_file(str(folder), "capped", repository)[1])


def test_a_model_of_the_hub_is_pinned_to_its_commit(repository, monkeypatch):
    def snapshot_download(name, *, revision, local_dir, allow_patterns):
        assert (name, revision) == ("Owner/Tiny", COMMIT) and not any("safetensors" in p for p in allow_patterns)
        shutil.copytree(repository / "checkpoints/tiny", local_dir, dirs_exist_ok=True)

    card = SimpleNamespace(to_dict=lambda: {"license": "mit"})
    info = SimpleNamespace(sha=COMMIT, card_data=card)
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda self, name: info)
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    model = load_model(model_file("Owner/Tiny", "tiny", repository)[0])
    assert isinstance(model, HubModel)
    assert (model.hub, model.revision, model.licence) == ("Owner/Tiny", COMMIT, "mit")


def test_a_model_is_read_from_the_hub_s_cache_where_there_is_no_network(repository, tmp_path, monkeypatch):
    cached = shutil.copytree(repository / "checkpoints/tiny", tmp_path / COMMIT)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: str(cached))
    model = load_model(model_file("Owner/Tiny", "tiny", repository)[0])
    assert (model.hub, model.revision, model.licence) == ("Owner/Tiny", COMMIT, "unknown")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda name, **_: (_ for _ in ()).throw(OSError("none")))
    with pytest.raises(UserError, match="or unset it"):
        model_file("Owner/Other", "other", repository)


def test_the_name_is_the_folder_s_own_and_one_that_a_study_can_give(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository / "checkpoints/tiny")
    for name in ("", "a/b", "Has Space", "x" * 41):
        with pytest.raises(UserError, match=r"the model's name .* a folder: a-z.*--name"):
            model_file(".", name, repository)
    (repository / "checkpoints/tiny/configs/models").mkdir(parents=True)
    assert main(["add-model", "."]) == 0
    assert "configs/models/tiny.yaml is" in capsys.readouterr().out


def test_nothing_is_overwritten_and_what_is_not_there_is_told(repository, monkeypatch, capsys):
    monkeypatch.chdir(repository)
    assert main(["add-model", "checkpoints/tiny"]) == 0
    printed = capsys.readouterr().out
    assert "configs/models/tiny.yaml is written. Look at:" in printed and "* stop_ids: " in printed
    assert main(["add-model", "checkpoints/tiny"]) == 2
    assert "is there already" in capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", lambda self, name: (_ for _ in ()).throw(OSError("no net")))
    with pytest.raises(UserError, match=r"^nowhere: .*no net"):
        model_file("nowhere", "other", repository)
    assert [path.name for path in (repository / "configs/models").iterdir()] == ["tiny.yaml"]
