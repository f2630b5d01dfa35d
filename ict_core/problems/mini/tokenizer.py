"""A byte-level BPE tokenizer with single digits, trained on the mini world's own text."""

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from ict_core.errors import UserError
from ict_core.problems.mini.problems import pretraining_documents
from ict_core.seeding import derive_seed

END, PAD = "<|endoftext|>", "<|pad|>"
PROMPT_TEMPLATE = "{% for message in messages %}Q: {{ message['content'] }}\nA:{% endfor %}"  # as Problem.prompt


def train_tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """Train a tokenizer with every digit and punctuation mark a token, so that a fork is always exactly one token.

    The size `vocabulary` includes special tokens and the 256 bytes; the model's embedding has as many rows.

    Raises:
        UserError: the text has too few distinct words for so many tokens.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d|[^\w\s]| ?[A-Za-z]+|\s"), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[END, PAD],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    documents = pretraining_documents(derive_seed(0, "bpe"), 4000, set())  # one tokenizer for every seed and study
    tokenizer.train_from_iterator([prompt + completion for prompt, completion in documents], trainer)
    if tokenizer.get_vocab_size() != vocabulary:
        raise UserError(
            f"architecture.vocab_size: {vocabulary}; the mini world's text gives at most "
            f"{tokenizer.get_vocab_size()} tokens; use as many or fewer"
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        padding_side="left",
        model_max_length=512,
        chat_template=PROMPT_TEMPLATE,
    )
