"""The errors that tabgrad raises on purpose, each with a stable code.

A message says what failed, what it got, what it wanted and what to do; the page
and the automation API show it as it is.
"""

from __future__ import annotations


class TabgradError(Exception):
    """Base of every deliberate error; `code` is stable and may be searched for."""

    code = "TAB-ERROR"


class ConfigError(TabgradError):
    """A hyperparameter is out of range or contradicts another."""

    code = "TAB-CONFIG"


class CorpusError(TabgradError):
    """The text cannot be trained on or encoded with the tokenizer at hand."""

    code = "TAB-CORPUS"


class PlanError(TabgradError):
    """A plan cannot be built: shapes disagree or a tensor does not fit."""

    code = "TAB-PLAN"


class BackendError(TabgradError):
    """A backend cannot start or failed while it ran."""

    code = "TAB-BACKEND"


class NonFiniteError(TabgradError):
    """The loss or the gradient norm stopped being a finite number."""

    code = "TAB-NONFINITE"


class BusyError(TabgradError):
    """Something else is under way that must end first."""

    code = "TAB-BUSY"
