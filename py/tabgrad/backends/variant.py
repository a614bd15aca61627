"""A row of the table of WGSL kernels, and the counts that rows are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tabgrad.ops import Const, Tol

Consts = Mapping[str, Const]

BASE = "base"
ELEMENT_BYTES = 4
WORKGROUP = 64  # threads; two subgroups on most devices
LEAST_WORKGROUP_BYTES = 16_384  # of workgroup memory, that every device has
_FEATURES = {"f16": "shader-f16"}  # of a device, where WGSL names them otherwise


def _always(_: Consts) -> bool:
    return True


def _none(_: Consts) -> int:
    return 0


@dataclass(frozen=True)
class Variant:
    """A kernel that does an op.

    Args:
        name: `base`, or what sets it apart.
        op: key of `OPS`.
        file: in `wgsl/`, without the suffix; with `main`, bindings and epilogue only.
        threads: sizes -> threads that have work.
        constants: written in front of the kernel; WG is the size of a workgroup.
        libs: files of `wgsl/lib/`, written in front in this order.
        main: file of `wgsl/` that is written behind and holds the entry point.
        flags: switches, written in front as `bool`.
        needs: WGSL extensions that it enables.
        fits: sizes -> whether the kernel can do them.
        is_likely: sizes -> whether it may be the fastest: the tuner tries no other.
        is_spare: for devices that lack what other rows need: where one of these can do
            a call, the tuner does not try this one.
        workgroup_bytes: sizes -> workgroup memory that it takes.
        scratch: sizes -> bytes of a buffer `scratch: array<f32>`, read and written,
            that every pass has at the binding after the op's arguments.
        then: the passes after this one, in order; their `needs`, `fits`, `scratch`
            and `then` do not count.
        tol: of a row that rounds more than the op's contract allows: the bench holds it
            to this, and no plan takes it.
    """

    name: str
    op: str
    file: str
    threads: Callable[[Consts], int]
    constants: Mapping[str, int] = field(default_factory=lambda: {"WG": WORKGROUP})
    libs: tuple[str, ...] = ("grid",)
    main: str | None = None
    flags: Mapping[str, bool] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    fits: Callable[[Consts], bool] = _always
    is_likely: Callable[[Consts], bool] = _always
    is_spare: bool = False
    workgroup_bytes: Callable[[Consts], int] = _none
    scratch: Callable[[Consts], int] = _none
    then: tuple[Variant, ...] = ()
    tol: Tol | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Every file of the kernel, in order."""
        libs = tuple(f"lib/{lib}" for lib in self.libs)
        return (*libs, self.file, *((self.main,) if self.main else ()))

    @property
    def passes(self) -> tuple[Variant, ...]:
        """This row and those that follow it."""
        return (self, *self.then)

    def workgroups(self, consts: Consts) -> int:
        """Return how many workgroups do a call."""
        return -(-self.threads(consts) // self.constants["WG"])

    def can_do(
        self, consts: Consts, features: frozenset[str], workgroup_bytes: int
    ) -> bool:
        """Return whether a device of these features and this memory does a call."""
        has_room = self.workgroup_bytes(consts) <= workgroup_bytes
        is_offered = all(_FEATURES.get(name, name) in features for name in self.needs)
        return is_offered and self.fits(consts) and has_room


def product_of(*letters: str) -> Callable[[Consts], int]:
    """Return a count of one per element over these axes."""

    def count(consts: Consts) -> int:
        n = 1
        for letter in letters:
            n *= int(consts[letter])
        return n

    return count
