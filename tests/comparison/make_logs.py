"""Write the logs that the tests read: `python make_logs.py lm_eval|lighteval|inspect OUT`, by what is installed.

Each in an environment of its own (`pip install lm-eval`, `lighteval`, `inspect-ai`; the first two with torch). Two tiny
models with random weights, or mocked ones, answer 24 sums of four choices, in six families.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
SUMS = [
    {"id": i, "question": f"{a}+{b}=", "choices": [str(a + b + d) for d in (0, 1, 2, 5)], "gold": 0, "family": i // 4}
    for i, (a, b) in enumerate([(a, b) for a in (1, 2, 3, 4) for b in (1, 2, 3, 4, 5, 6)])
]
MODELS = {"one": 1, "two": 2}  # names and seeds


def tiny_model(folder: Path, seed: int) -> None:
    """A Llama of 5,000 parameters that reads characters."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = {name: i for i, name in enumerate(["<pad>", "<eos>", "<unk>", *"0123456789+= ABCD.?:\n"])}
    raw = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    special = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<eos>", "unk_token": "<unk>"}
    torch.manual_seed(seed)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), max_position_embeddings=128, **sizes))
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=raw, **special).save_pretrained(folder)


def lm_eval(work: Path, out: Path) -> None:
    """`lm_eval --log_samples`, a multiple-choice task: the metrics acc and acc_norm."""
    (work / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SUMS))
    (work / "sums.yaml").write_text(
        f"task: sums\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {work}/sums.jsonl}}}}\n"
        "test_split: test\n"
        'output_type: multiple_choice\ndoc_to_text: "{{question}}"\ndoc_to_choice: "{{choices}}"\ndoc_to_target: gold\n'
        "metric_list: [{metric: acc}, {metric: acc_norm}]\n"
    )
    for name, seed in MODELS.items():
        tiny_model(work / name, seed)
        # its command in a folder of the model's, as it names the folder of the logs after the whole path
        options = ["--model", "hf", "--model_args", f"pretrained={name}", "--tasks", "sums", "--include_path", "."]
        options += ["--log_samples", "--output_path", str(out), "--device", "cpu", "--batch_size", "8"]
        subprocess.run([sys.executable, "-m", "lm_eval", *options], cwd=work, check=True)


def lighteval(work: Path, out: Path) -> None:
    """`lighteval accelerate --save-details`, the same as a custom task."""
    package = Path(importlib.util.find_spec("lighteval").origin).parent  # all tasks are read, and one would download
    (package / "tasks/tasks/tinyBenchmarks.pkl").touch()
    (work / "rows").mkdir()
    (work / "rows" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SUMS))
    (work / "task.py").write_text(
        "from lighteval.metrics.metrics import Metrics\n"
        "from lighteval.tasks.lighteval_task import LightevalTaskConfig\n"
        "from lighteval.tasks.requests import Doc\n\n\n"
        "def prompt(line, task_name=None):\n"
        '    return Doc(task_name=task_name, query=line["question"], choices=line["choices"],\n'
        '               gold_index=line["gold"])\n\n\n'
        f'TASKS_TABLE = [LightevalTaskConfig(name="sums", prompt_function=prompt, hf_repo="{work}/rows",\n'
        '    hf_subset="default", hf_avail_splits=["test"], evaluation_splits=["test"], few_shots_split=None,\n'
        "    few_shots_select=None, metrics=[Metrics.loglikelihood_acc])]\n"
    )
    for name, seed in MODELS.items():
        tiny_model(work / name, seed)
        options = [f"model_name={name},batch_size=8", "sums", "--custom-tasks", "task.py", "--save-details"]
        command = [str(Path(sys.executable).with_name("lighteval")), "accelerate", *options, "--output-dir", str(out)]
        subprocess.run(command, cwd=work, check=True)


def inspect(_: Path, out: Path) -> None:
    """Mocked models, four of the sums twice; one log of each form."""
    from inspect_ai import Task
    from inspect_ai import eval as run
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.model._providers.mockllm import MockLLM
    from inspect_ai.scorer import match

    async def count(self: object, *_: object) -> int:
        return 1  # its own counts by a vocabulary that it would download

    MockLLM.count_tokens = MockLLM.count_text_tokens = count
    some = SUMS[2:6]
    data = [
        Sample(id=str(row["id"]), input=row["question"], target=row["choices"][0], metadata={"family": row["family"]})
        for row in some
    ]
    for name, form, wrong in (("one", "eval", {1, 2, 4, 7}), ("two", "json", {2})):
        given = [row["choices"][int(i in wrong)] for i, row in enumerate(some * 2)]
        outputs = [ModelOutput.from_content(f"mockllm/{name}", text) for text in given]
        model, task = get_model(f"mockllm/{name}", custom_outputs=outputs), Task(data, scorer=match(), name="sums")
        run(task, model=model, epochs=2, log_dir=str(out), log_format=form, max_samples=1, display="none")


if __name__ == "__main__":
    made = Path(sys.argv[2]).resolve()
    scratch = made.with_name(f"{made.name}-work")
    scratch.mkdir(parents=True)
    {"lm_eval": lm_eval, "lighteval": lighteval, "inspect": inspect}[sys.argv[1]](scratch, made)
