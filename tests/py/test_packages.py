"""System packages: what is missing is named with the command that installs it."""

import os

import pytest

from tools import packages
from tools.packages import Tool, ensure
from tools.shell import BuildError


def tool(name: str, *, is_there: bool) -> Tool:
    return Tool(
        what=f"the {name}",
        packages=(f"{name}-1", f"{name}-2"),
        is_there=lambda: is_there,
        elsewhere=f"build {name} yourself",
    )


def forbid_install(_names: object) -> None:
    raise AssertionError("nothing may be installed here")


def test_without_root_every_missing_tool_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "is_debian", lambda: True)
    monkeypatch.setattr(packages, "install", forbid_install)
    with pytest.raises(BuildError) as caught:
        ensure(
            tool("hammer", is_there=False),
            tool("nail", is_there=True),
            tool("saw", is_there=False),
        )
    assert str(caught.value).splitlines() == [
        "the hammer is missing: sudo apt-get install hammer-1 hammer-2",
        "the saw is missing: sudo apt-get install saw-1 saw-2",
    ]


def test_on_another_system_the_advice_is_not_a_debian_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packages, "is_debian", lambda: False)
    monkeypatch.setattr(packages, "install", forbid_install)
    with pytest.raises(BuildError, match="missing: build hammer yourself"):
        ensure(tool("hammer", is_there=False))


def test_root_on_debian_installs_only_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    installed: list[str] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(packages, "is_debian", lambda: True)
    monkeypatch.setattr(packages, "install", installed.extend)
    saw = Tool(
        what="the saw",
        packages=("saw",),
        is_there=lambda: bool(installed),
        elsewhere="",
    )
    ensure(tool("nail", is_there=True), saw)
    assert installed == ["saw"]
