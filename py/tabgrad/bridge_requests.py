"""What the page asks for, checked: corpora, configs and their faults by field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabgrad.config import RunConfig
from tabgrad.errors import ConfigError, CorpusError, TabgradError
from tabgrad.plan import Plan, build_plan
from tabgrad.presets import DEFAULT_PRESET, preset
from tabgrad.text.split import SplitText, split_text
from tabgrad.text.tokenizers import Tokenizer, make_tokenizer

DEFAULT_CORPUS = "tinyshakespeare"
DEFAULT_TOKENIZER = "byte"
TEXTS_KEPT = 3
BACKENDS = ("auto", "webgpu", "wasm", "numpy")
RUN_KEYS = (
    "preset",
    "config",
    "steps",
    "seed",
    "eval_every",
    "corpus",
    "tokenizer",
    "plan",
)
PLANS = ("fused", "plain")  # the same numbers; the plain one is the definition
_OVERRIDES = ("steps", "seed", "eval_every")
_FIELD = re.compile(r"[a-z_0-9]+")


def check_keys(request: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    """Raise ConfigError where a request has a key that is not known."""
    unknown = sorted(set(request) - set(known))
    if unknown:
        raise ConfigError(
            f"{what}: got the unknown key {', '.join(unknown)}; "
            f"known are {', '.join(known)}"
        )


def names_of(
    request: Mapping[str, Any], key: str, known: Iterable[str], default: Iterable[str]
) -> list[str]:
    """Return a list of names of a request.

    Raises:
        ConfigError: it is empty, no list, or has a name that is not known.
    """
    names = request.get(key, list(default))
    if not isinstance(names, list) or not names or any(n not in known for n in names):
        raise ConfigError(
            f"{key}: got {names!r}, wanted a list of some of {', '.join(known)}"
        )
    return names


@dataclass(frozen=True)
class TokenizedText:
    """A text as token ids, with the tokenizer that made them."""

    tokenizer: Tokenizer
    tokens: NDArray[np.uint32]


@dataclass
class Corpus:
    """A text to train on; each tokenizer encodes it once."""

    name: str
    text: str
    _encoded: dict[str, TokenizedText] = field(default_factory=dict)

    def encoded(self, kind: str) -> TokenizedText:
        """Return the tokens by the tokenizer of a kind.

        Raises:
            CorpusError: the kind is unknown, or the text is empty.
        """
        if kind not in self._encoded:
            tokenizer = make_tokenizer(kind, self.text)
            self._encoded[kind] = TokenizedText(
                tokenizer, tokenizer.encode(self.text)[0]
            )
        return self._encoded[kind]

    @cached_property
    def n_bytes(self) -> int:
        """Length in UTF-8."""
        return len(self.encoded("byte").tokens)


class Corpora:
    """The texts at hand: the built-in one and the latest of the user's."""

    def __init__(self) -> None:
        """Start with none; the worker gives the built-in text when it has loaded."""
        self._builtin: dict[str, Corpus] = {}
        self._latest: dict[str, Corpus] = {}
        self._count = 0

    def add_builtin(self, name: str, text: str) -> str:
        """Keep the default text and return its id."""
        self._builtin[DEFAULT_CORPUS] = Corpus(name, text)
        return DEFAULT_CORPUS

    def add(self, name: str, text: str) -> str:
        """Keep a text of the user's and return its id; older ones are dropped."""
        self._count += 1
        corpus_id = f"text-{self._count}"
        self._latest[corpus_id] = Corpus(name, text)
        for old in list(self._latest)[:-TEXTS_KEPT]:
            del self._latest[old]
        return corpus_id

    def get(self, corpus_id: object) -> Corpus:
        """Return a text by id.

        Raises:
            CorpusError: there is none.
        """
        texts = {**self._builtin, **self._latest}
        if not isinstance(corpus_id, str) or corpus_id not in texts:
            raise CorpusError(
                f"corpus: got {corpus_id!r}, wanted {DEFAULT_CORPUS} or a text: "
                'pass {text: "..."}'
            )
        return texts[corpus_id]


@dataclass(frozen=True)
class RunRequest:
    """A run that can start: config and text fit each other."""

    config: RunConfig
    corpus_name: str
    encoded: TokenizedText
    split: SplitText
    is_fused: bool = True

    def plan(self, **kind: bool) -> Plan:
        """Return the plan of the run, without a device's limits.

        Args:
            kind: `is_grouped` and `has_decode` of the backend.
        """
        kind = {"is_fused": self.is_fused, **kind}
        return build_plan(self.config, len(self.encoded.tokens), **kind)


def run_config(request: Mapping[str, Any]) -> RunConfig:
    """Return the hyperparameters of a request, but for the vocabulary.

    `preset` names the base, `config` changes it, and `steps`, `seed` and
    `eval_every` beside it change it last.

    Raises:
        ConfigError: a preset, name or value is not allowed.
    """
    config = request.get("config", {})
    if not isinstance(config, Mapping):
        raise ConfigError(f"config: got {config!r}, wanted an object of numbers")
    given = {k: request[k] for k in _OVERRIDES if k in request}
    base = preset(request.get("preset", DEFAULT_PRESET))
    return base.replace(**{**config, **given})


def parse_run(request: Mapping[str, Any], corpora: Corpora) -> RunRequest:
    """Return what a request of the page or the automation API asks for.

    Raises:
        ConfigError: a hyperparameter is wrong.
        CorpusError: there is no such text, or it is too short.
    """
    config = run_config(request)
    corpus = corpora.get(request.get("corpus", DEFAULT_CORPUS))
    encoded = corpus.encoded(str(request.get("tokenizer", DEFAULT_TOKENIZER)))
    size = encoded.tokenizer.vocab_size
    asked = request.get("config", {}).get("vocab_size", size)
    if asked != size:
        raise ConfigError(
            f"vocab_size: got {asked}, wanted {size}: the tokenizer decides it; "
            "leave vocab_size out"
        )
    kind = request.get("plan", PLANS[0])
    if kind not in PLANS:
        raise ConfigError(f"plan: got {kind!r}, wanted {' or '.join(PLANS)}")
    split = split_text(encoded.tokens, config.model.block_size)
    config = config.replace(vocab_size=size)
    return RunRequest(config, corpus.name, encoded, split, kind == PLANS[0])


def field_faults(
    request: Mapping[str, Any], corpora: Corpora
) -> tuple[dict[str, str], RunRequest | None]:
    """Return the validator's messages by field, and the run where there are none.

    A field at fault is set back to the preset's value, so that the others are
    checked too.
    """
    faults: dict[str, str] = {}
    current = dict(request)
    while True:
        try:
            run = parse_run(current, corpora)
        except TabgradError as error:
            name = _field_of(error)
            if name in faults or not _drop(current, name):
                return {name: str(error), **faults}, None
            faults[name] = str(error)
        else:
            return faults, None if faults else run


def _field_of(error: TabgradError) -> str:
    if isinstance(error, CorpusError) and not str(error).startswith("tokenizer"):
        return "corpus"
    found = _FIELD.match(str(error))
    return found.group() if found else "config"


def _drop(request: dict[str, Any], name: str) -> bool:
    """Take a field out of a request; return whether it was there."""
    config = dict(request.get("config", {}))
    was_there = name in config or name in request
    config.pop(name, None)
    request.pop(name, None)
    request["config"] = config
    return was_there
