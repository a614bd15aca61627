"""Kernels with one error planted: a stored number off by 1 %, an integer by one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# `off` of a stored number, written in front of a C++ mutant
CPP_PREAMBLE = """#include <type_traits>
namespace tabgrad_mutant {
template <typename T>
constexpr T off(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value + 1;
  } else {
    return value * 1.01f;
  }
}
}  // namespace tabgrad_mutant
"""


@dataclass(frozen=True)
class Mutant:
    """A file with one statement changed."""

    file: str
    line: int
    was: str
    now: str
    text: str

    def __str__(self) -> str:
        """Return where, and what became of the statement."""
        return f"{self.file}:{self.line}: {self.was}  ->  {self.now}"


def wgsl_mutants(file: str, text: str, outputs: dict[str, str]) -> list[Mutant]:
    """Return a mutant for each statement of a kernel that stores to an output.

    Args:
        file: its name, for reports.
        text: WGSL.
        outputs: name of each written binding -> "f32" or "u32".
    """
    names = "|".join(outputs)
    store = re.compile(rf"\b({names})\[([^\n]+?)\] (\+?=) ([^;]+);")
    mutants = []
    for match in _statements(store, text):
        name, at, sign, value = match.groups()
        off = f"({value}) + 1u" if outputs[name] == "u32" else f"1.01 * ({value})"
        if value == "0.0":
            off = "0.01"
        mutants.append(_mutant(file, text, match, f"{name}[{at}] {sign} {off};"))
    return mutants


def cpp_mutants(file: str, text: str) -> list[Mutant]:
    """Return a mutant for each statement of a C++ file that stores a number.

    These are `store(pointer, value)`, `store4(pointer, value)`, assignments to an
    element, `name[index] = value` and `*a.name = value`, and copies of integers, which
    are made to begin one further on.
    """
    calls = re.compile(r"\b(io\.store|store4)\(([^;]+)\);")
    stores = re.compile(
        r"(?<=[ {])(\*a\.\w+|[\w.]+\[[^;=\n]*\]) ([-+]?=) ([^;={][^;{]*);"
    )
    copies = re.compile(r"std::copy_n\(([^,;]+), ")
    mutants = []
    for match in _statements(calls, text):
        pointer, value = _split_arguments(match[2])
        off = f"{match[1]}({pointer}, ({value}) * splat(1.01f));"
        mutants.append(_mutant(file, text, match, off))
    for match in _statements(stores, text):
        target, sign, value = match.groups()
        off = "0.01f" if value == "0" else f"tabgrad_mutant::off({value})"
        mutants.append(_mutant(file, text, match, f"{target} {sign} {off};"))
    for match in _statements(copies, text):
        mutants.append(_mutant(file, text, match, f"std::copy_n({match[1]} + 1, "))
    return sorted(mutants, key=lambda mutant: mutant.line)


def _statements(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches that do not begin in a comment."""
    for match in pattern.finditer(text):
        line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if "//" not in line:
            yield match


def _split_arguments(text: str) -> tuple[str, str]:
    """Split two arguments at the comma outside all parentheses."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            return text[:at], " ".join(text[at + 1 :].split())
    raise ValueError(f"got {text!r}, wanted two arguments")


def _mutant(file: str, text: str, match: re.Match[str], now: str) -> Mutant:
    line = text.count("\n", 0, match.start()) + 1
    changed = text[: match.start()] + now + text[match.end() :]
    was = " ".join(match[0].split())
    return Mutant(file, line, was, " ".join(now.split()), changed)
