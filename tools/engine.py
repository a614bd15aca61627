"""Compiles cpp/ into the CPU engine: six WebAssembly builds and one native library.

- engine64: 64-bit memory, threads
- engine32: 32-bit memory, threads
- engine32st: 32-bit memory, one thread: for pages that are not cross-origin isolated
- each of them again with `fma` at the end of its name: with relaxed SIMD, whose product
  and sum in one instruction not every browser has

The native library is the same sources under address and undefined-behaviour sanitizers.
A build is done again only when its sources, headers, flags or compiler changed.
"""

import os
import platform
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from tools import packages
from tools.glue import mend
from tools.paths import BUILD, ROOT
from tools.python_env import python_with_tools
from tools.shell import BuildError, run, step
from tools.stamps import hash_of, hash_of_files, is_done, mark_done
from tools.toolchain import Emscripten, NoEmscripten, find_emscripten

CPP = ROOT / "cpp"
CLANG = packages.LLVM_BIN / "clang++"
GENERATED = BUILD / "generated"  # contract.h, made of the ops' contracts

STRICT = ("-std=c++20", "-Wall", "-Wextra", "-Wconversion", "-Werror")
COMPILE = (*STRICT, "-O3", "-msimd128", "-fno-exceptions", "-fno-rtti")
LINK = (
    "-O3",
    "-Wall",
    "-Werror",
    "--no-entry",
    "-sMODULARIZE",
    "-sEXPORT_ES6",
    "-sENVIRONMENT=worker",
    "-sIMPORTED_MEMORY",
    "-sALLOW_MEMORY_GROWTH",
    "-sINITIAL_MEMORY=8MB",
    "-sSTACK_SIZE=1MB",
    "-sDYNAMIC_EXECUTION=0",
    # The engine calls nothing of the C++ library, of OpenGL or OpenAL: with these two a
    # first link builds only half of the system libraries.
    "-sDEFAULT_TO_CXX=0",
    "-sAUTO_NATIVE_LIBRARIES=0",
)
THREADS = ("-pthread",)
# The page says how many threads it wants; they are there before the factory resolves,
# and the page ends them.
POOL = (
    "-sPTHREAD_POOL_SIZE=Module.poolSize",
    "-sPTHREAD_POOL_SIZE_STRICT=2",
    "-sEXPORTED_RUNTIME_METHODS=PThread",
)
# Growing memory under threads is slow, which the linker warns of. The page never grows
# it: the flag is there so that the module admits a memory of any size.
NO_GROWTH_WARNING = ("-Wno-pthreads-mem-growth",)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One WebAssembly build: flags for both steps, flags for linking."""

    name: str
    flags: tuple[str, ...]
    link: tuple[str, ...]
    descriptors_64: int
    waits: int  # asks for Atomics.waitAsync


_PLAIN = (
    Variant(
        name="engine64",
        flags=("-sMEMORY64=1", "-Wno-experimental", *THREADS),
        link=("-sMAXIMUM_MEMORY=16GB", *POOL, *NO_GROWTH_WARNING),
        descriptors_64=2,
        waits=1,
    ),
    Variant(
        name="engine32",
        flags=THREADS,
        link=("-sMAXIMUM_MEMORY=4GB", *POOL, *NO_GROWTH_WARNING),
        descriptors_64=0,
        waits=1,
    ),
    Variant(
        name="engine32st",
        flags=(),
        link=("-sMAXIMUM_MEMORY=4GB",),
        descriptors_64=0,
        waits=0,
    ),
)
VARIANTS = (
    *_PLAIN,
    *(
        replace(v, name=f"{v.name}fma", flags=(*v.flags, "-mrelaxed-simd"))
        for v in _PLAIN
    ),
)

NATIVE_FLAGS = (
    *STRICT,
    "-g",
    "-O1",
    "-fPIC",
    "-fno-omit-frame-pointer",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-shared-libasan",
    "-pthread",
)


def sources() -> list[Path]:
    """Return the C++ files that every build compiles."""
    return sorted(CPP.glob("*.cpp"))


def build_wasm(emscripten: Emscripten, variant: Variant, cpp: Path = CPP) -> list[Path]:
    """Compile and link one WebAssembly build.

    Args:
        emscripten: the compiler.
        variant: a row of `VARIANTS`.
        cpp: the folder of the sources.

    Returns:
        The .mjs and the .wasm, below build/engine/.

    Raises:
        BuildError: the compiler refused something; warnings are errors.
    """
    folder = BUILD / "engine" / variant.name
    glue = folder / f"{variant.name}.mjs"
    outputs = [glue, glue.with_suffix(".wasm")]
    compiler = f"{emscripten.command} {emscripten.version}"
    link = [*LINK, *variant.flags, *variant.link]
    generated = write_contract()
    mending = hash_of_files([ROOT / "tools" / "glue.py"], ROOT)
    made_of = (_key_of(cpp, generated), compiler, mending)
    key = hash_of(*made_of, COMPILE, variant.flags, link)
    stamp = folder / "stamp"
    if is_done(stamp, key, *outputs):
        return outputs
    command = [*emscripten.command]
    with step(f"compiling {glue.name}"):
        flags = [*COMPILE, *variant.flags, f"-I{generated}", f"-I{cpp}"]
        objects = _compile(command, flags, folder, cpp, emscripten.env)
        linked = folder / "linked"
        shutil.rmtree(linked, ignore_errors=True)
        linked.mkdir()
        run(
            [*command, *objects, *link, "-o", linked / glue.name],
            env=emscripten.env,
        )
        text = (linked / glue.name).read_text()
        glue.write_text(mend(text, variant.descriptors_64, variant.waits, glue.name))
        shutil.copyfile(linked / outputs[1].name, outputs[1])
    mark_done(stamp, key)
    return outputs


def build_native(cpp: Path = CPP) -> Path:
    """Compile the sources with sanitizers into a library for ctypes.

    Returns:
        build/native/libengine.so; load it in a process started with `native_env()`.
    """
    packages.ensure(packages.LLVM)
    folder = BUILD / "native"
    library = folder / "libengine.so"
    generated = write_contract()
    key = hash_of(_key_of(cpp, generated), str(CLANG), NATIVE_FLAGS)
    stamp = folder / "stamp"
    if is_done(stamp, key, library):
        return library
    with step(f"compiling {library.name} with sanitizers"):
        flags = [*NATIVE_FLAGS, f"-I{generated}", f"-I{cpp}"]
        objects = _compile([str(CLANG)], flags, folder, cpp, {})
        run([CLANG, *NATIVE_FLAGS, "-shared", *objects, "-o", library])
    mark_done(stamp, key)
    return library


def native_env() -> dict[str, str]:
    """Return the variables of a process that loads the native library.

    The sanitizer's runtime must be there first. Leaks are not looked for, because the
    Python interpreter keeps much on purpose.
    """
    name = f"libclang_rt.asan-{platform.machine()}.so"
    runtime = run([CLANG, f"-print-file-name={name}"]).strip()
    symbols = str(packages.LLVM_BIN / "llvm-symbolizer")
    return {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "ASAN_SYMBOLIZER_PATH": symbols,
    }


def write_contract() -> Path:
    """Generate contract.h, which the sources include, and return its folder."""
    target = GENERATED / "contract.h"
    module = "tabgrad.backends.wasm_header"
    text = run(
        [python_with_tools(), "-m", module], env={"PYTHONPATH": str(ROOT / "py")}
    )
    if not target.is_file() or target.read_text() != text:
        GENERATED.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return GENERATED


def _key_of(cpp: Path, generated: Path) -> str:
    files = [path for path in cpp.glob("*") if path.suffix in (".cpp", ".h")]
    return hash_of(hash_of_files(files, cpp), _headers_of(generated))


def _headers_of(folder: Path) -> str:
    return hash_of_files(folder.glob("*.h"), folder)


def _compile(
    command: list[str],
    flags: list[str],
    folder: Path,
    cpp: Path,
    env: Mapping[str, str],
) -> list[Path]:
    """Compile each source whose text, headers or flags changed; return the objects."""
    found = sorted(cpp.glob("*.cpp"))
    if not found:
        raise BuildError(f"{cpp} holds no .cpp file")
    headers = hash_of(_headers_of(cpp), _headers_of(GENERATED))
    folder.mkdir(parents=True, exist_ok=True)

    def compile_one(source: Path) -> Path:
        target = folder / f"{source.stem}.o"
        key = hash_of(hash_of_files([source], cpp), headers, command, flags)
        stamp = target.with_suffix(".stamp")
        if not is_done(stamp, key, target):
            run([*command, *flags, "-c", source, "-o", target], env=env)
            mark_done(stamp, key)
        return target

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, found))


def main() -> None:
    """Build everything and print where it lies: `python3 -m tools.engine`."""
    found = find_emscripten(shutil.which("node") or "node")
    if isinstance(found, NoEmscripten):
        raise SystemExit(f"{found.reason}; {found.remedy}")
    for variant in VARIANTS:
        print(*build_wasm(found, variant), sep="\n")
    print(build_native())


if __name__ == "__main__":
    main()
