"""Where every file of a study lies: the one place that names them, for the library and the workflow."""

from dataclasses import dataclass
from pathlib import Path

COMPLETIONS_CACHE = Path("results/cache/completions")  # of all studies of a repository
MANIFEST = "manifest.json"  # in the folder of what it describes
BASE_VARIANT = "base"
"""The variant of the untrained model: evaluated, never trained, and no method's name."""

_SEED = "seed-"


def cell_folder(model: str, variant: str, seed: int | str) -> str:
    """A cell's folder, from that of the study."""
    return f"{model}/{variant}/{_SEED}{seed}"


def seed_of(folder: Path) -> int | None:
    """The seed in the name of a cell's folder; None where it is not the name of one."""
    number = folder.name.removeprefix(_SEED)
    return int(number) if folder.name.startswith(_SEED) and number.isdecimal() else None


@dataclass(frozen=True)
class CellFiles:
    """The files of a cell, or of an untrained model's answers.

    Attributes:
        folder: ``<study>/<model>/<variant>/seed-<n>``.
    """

    folder: Path

    @property
    def train(self) -> Path:
        """What the training wrote, as a whole: ``model/``, three frames and the manifest."""
        return self.folder / "train"

    @property
    def model(self) -> Path:
        """The trained checkpoint."""
        return trained_model(self.train)

    @property
    def completions(self) -> Path:
        """``records.COMPLETIONS``."""
        return self.folder / "completions.parquet"

    @property
    def generation(self) -> Path:
        """The manifest of the completions."""
        return self.folder / "generation.json"

    @property
    def grades(self) -> Path:
        """``records.GRADES``."""
        return self.folder / "grades.parquet"

    @property
    def grading(self) -> Path:
        """The manifest of the grades."""
        return self.folder / "grading.json"


def trained_model(train: Path) -> Path:
    """The checkpoint in a training's folder."""
    return train / "model"


def checkpoints(train: Path) -> Path:
    """The folder, beside that of a training, of its checkpoints while it is under way."""
    return train.with_name(train.name + ".checkpoints")


@dataclass(frozen=True)
class TrainFiles:
    """The frames of a training.

    Attributes:
        folder: what the training writes.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """``records.LOG``, a row a step."""
        return self.folder / "log.parquet"

    @property
    def timing(self) -> Path:
        """``records.TIMING``: the wall time of each step."""
        return self.folder / "timing.parquet"

    @property
    def tokens(self) -> Path:
        """``records.TOKENS``, the token sample."""
        return self.folder / "tokens.parquet"


@dataclass(frozen=True)
class StudyFiles:
    """The files of a study.

    Attributes:
        results: its folder, ``results/<study>``, or one of stored files.
    """

    results: Path

    @property
    def train_problems(self) -> Path:
        """``records.PROBLEMS`` to train on."""
        return self.results / "data" / "train.parquet"

    @property
    def eval_problems(self) -> Path:
        """``records.PROBLEMS`` of all benchmarks."""
        return self.results / "data" / "eval.parquet"

    def base_model(self, model: str) -> Path:
        """The base checkpoint."""
        return self.results / model / BASE_VARIANT / "model"

    def completion_probe(self, model: str) -> Path:
        """``records.COMPLETION_PROBE`` of a base model."""
        return self.results / model / BASE_VARIANT / "completion_probe.parquet"

    def cell(self, folder: str) -> CellFiles:
        """The files of the cell of that :func:`cell_folder`."""
        return CellFiles(self.results / folder)

    def trackers(self, folder: str) -> Path:
        """What the study's trackers write of a cell."""
        return self.results / "trackers" / folder

    def log_of(self, rule: str, part: str = "") -> Path:
        """What a job of a rule prints; the part names the job where there are several."""
        return self.logs / rule / f"{part}.log" if part else self.logs / f"{rule}.log"

    @property
    def logs(self) -> Path:
        """The folder of the jobs' logs."""
        return self.results / "logs"

    def frame(self, name: str) -> Path:
        """A measured frame: scores, log, tokens, compute, shadow, overlap, contamination or near_duplicates."""
        return self.results / f"{'train_log' if name == 'log' else name}.parquet"

    @property
    def settings(self) -> Path:
        """The whole configuration, as the evidence reads it."""
        return self.results / "study.json"

    @property
    def manifest(self) -> Path:
        """The manifests of all jobs, what they share written once."""
        return self.results / MANIFEST

    def statistics(self, name: str) -> Path:
        """A frame of :data:`ict_core.statistics.schemas.STATISTICS`."""
        return self.results / "statistics" / f"{name}.parquet"

    @property
    def tables(self) -> Path:
        """The folder of the tables."""
        return self.results / "tables"

    @property
    def figures(self) -> Path:
        """The folder of the figures."""
        return self.results / "figures"

    @property
    def claims(self) -> Path:
        """The verdicts on the ledger's claims; pages of the same name stand beside."""
        return self.results / "claims.json"

    @property
    def notebook(self) -> Path:
        """The executed notebook."""
        return self.results / "paper_figures.ipynb"

    @property
    def report(self) -> list[Path]:
        """The pages: the report, the overview, the manifests."""
        return [self.results / name for name in ("report.md", "overview.html", "manifest.html")]

    @property
    def regraded(self) -> "StudyFiles":
        """The files of the study under a later grader."""
        return StudyFiles(self.results / "regrade")


def study_of(log: Path) -> Path | None:
    """The folder of the study whose job prints into this log; None where it is no job's log."""
    folders = [folder.parent for folder in log.parents if folder.name == "logs"]
    return folders[0] if folders else None
