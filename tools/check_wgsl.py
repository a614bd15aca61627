"""Validates WGSL with naga: every complete kernel in a folder.

naga comes with the PyPI package wgpu, which hands a shader to it only with a device;
Mesa's llvmpipe is one on any machine. Run: python -m tools.check_wgsl FOLDER
"""

import sys
from pathlib import Path

import wgpu

# naga knows subgroup functions by the device's feature and refuses this directive.
DIRECTIVE = "enable subgroups;"
FEATURES = {"shader-f16", "subgroup"}


def make_device() -> "wgpu.GPUDevice":
    """Return a device with what kernels may ask for and its adapter offers.

    Raises:
        SystemExit: there is no Vulkan device on this machine.
    """
    try:
        adapter = wgpu.gpu.request_adapter_sync(power_preference="low-power")
    except RuntimeError as error:
        raise SystemExit(
            f"naga needs a Vulkan device and found none ({error}): "
            "sudo apt-get install mesa-vulkan-drivers"
        ) from error
    offered = sorted(FEATURES & set(adapter.features))
    return adapter.request_device_sync(required_features=offered)


def complaint_of(device: "wgpu.GPUDevice", code: str) -> str | None:
    """Return what naga has against a shader, or None."""
    blanked = code.replace(DIRECTIVE, " " * len(DIRECTIVE))
    try:
        device.create_shader_module(code=blanked)
    except wgpu.GPUError as error:
        return str(error)
    return None


def main(words: list[str]) -> int:
    """Validate the .wgsl files of a folder; return 1 when one fails or none is."""
    folder = Path(words[0])
    files = sorted(folder.rglob("*.wgsl"))
    device = make_device()
    complaints = 0
    for path in files:
        complaint = complaint_of(device, path.read_text())
        if complaint:
            complaints += 1
            print(f"{path}: {complaint}")
    print(f"naga: {len(files)} kernels, {complaints} refused")
    return 1 if complaints or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
