"""What runs a plan: numpy, WebGPU or WASM, behind one contract."""
