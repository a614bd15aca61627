"""Calls of ops on named tensors: what the model writes and autodiff extends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tabgrad.dims import bind_shape, resolve_shape
from tabgrad.errors import PlanError
from tabgrad.ops import OPS, Call, Const
from tabgrad.tensors import Role, Tensor


@dataclass
class Graph:
    """Tensors and calls in order; activations are made under `prefix`."""

    tensors: dict[str, Tensor]
    prefix: str = ""
    calls: list[Call] = field(default_factory=list)

    def add(self, tensor: Tensor) -> str:
        """Add a tensor and return its name.

        Raises:
            PlanError: the name is taken by a tensor that differs.
        """
        if self.tensors.setdefault(tensor.name, tensor) != tensor:
            raise PlanError(f"tensor {tensor.name} is made twice, and differs")
        return tensor.name

    def call(
        self,
        op_name: str,
        args: Mapping[str, str],
        consts: Mapping[str, Const] | None = None,
        adds: Iterable[str] = (),
        role: Role = "act",
    ) -> None:
        """Append a call; written tensors that do not exist are made.

        Args:
            op_name: key of `OPS`.
            args: argument name -> tensor name.
            consts: attrs, and sizes that no read argument shows.
            adds: written arguments to accumulate into.
            role: role of the tensors made.

        Raises:
            PlanError: arguments, shapes or constants do not fit the contract.
        """
        op = OPS[op_name]
        given = dict(consts or {})
        if set(args) != {a.name for a in op.args}:
            wanted = ", ".join(a.name for a in op.args)
            raise PlanError(f"{op_name}: got arguments {sorted(args)}, wanted {wanted}")
        dims = {k: int(v) for k, v in given.items() if k in op.dims}
        for arg in sorted(op.args, key=lambda a: args[a.name] not in self.tensors):
            where = f"{op_name}.{arg.name} ({args[arg.name]})"
            name = args[arg.name]
            if name not in self.tensors:
                if arg.access == "read":
                    raise PlanError(f"{where}: read before it is written")
                self.add(Tensor(name, resolve_shape(arg.axes, dims), arg.dtype, role))
            tensor = self.tensors[name]
            if tensor.dtype != arg.dtype:
                raise PlanError(f"{where}: got {tensor.dtype}, wanted {arg.dtype}")
            bind_shape(arg.axes, tensor.shape, dims, where)
        values = {**given, **dims}
        missing = [c for c in op.consts if c not in values]
        if missing:
            raise PlanError(f"{op_name}: no value for {', '.join(missing)}")
        refused = set(adds) - set(op.adds)
        if refused:
            raise PlanError(f"{op_name}: {', '.join(sorted(refused))} cannot add")
        ordered = {c: values[c] for c in op.consts}
        self.calls.append(Call(op, dict(args), ordered, frozenset(adds)))
