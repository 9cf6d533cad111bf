"""Generate `memory_service/v1` from `proto/`, or with `--check` say whether what is committed is current.

The result depends on the .proto files and the locked grpcio-tools and mypy-protobuf alone.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import sysconfig
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
PACKAGE = Path("memory_service/v1")
SUFFIXES = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")


def generate(destination: Path) -> None:
    """Write the modules of every .proto file below `destination`; SystemExit if protoc fails."""
    sources = sorted(str(path.relative_to(PROTO)) for path in (PROTO / PACKAGE).glob("*.proto"))
    if not sources:
        raise SystemExit(f"no .proto file in {PROTO / PACKAGE}")
    # protoc finds the plugin that types the gRPC stubs on PATH, or by its name and path.
    plugin = Path(sysconfig.get_path("scripts")) / "protoc-gen-mypy_grpc"
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={resources.files('grpc_tools') / '_proto'}",
        f"--plugin=protoc-gen-mypy_grpc={plugin}",
        f"--python_out={destination}",
        f"--pyi_out={destination}",
        f"--grpc_python_out={destination}",
        f"--mypy_grpc_out=quiet:{destination}",
        *sources,
    ]
    if protoc.main(arguments) != 0:
        raise SystemExit("protoc failed")
    _drop_empty_services(destination / PACKAGE)


def _drop_empty_services(package: Path) -> None:
    """Remove the gRPC modules of files that define no service."""
    for module in package.glob("*_pb2_grpc.py"):
        if "class " not in module.read_text(encoding="utf-8"):
            module.unlink()
            module.with_suffix(".pyi").unlink(missing_ok=True)


def generated_in(directory: Path) -> dict[str, bytes]:
    """The generated files of a directory by name."""
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.name.endswith(SUFFIXES)}


def main() -> int:
    """Generate, or compare: 0 when all is well, 1 when a committed file is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; exit 1 on a difference")
    check = parser.parse_args().check
    target = ROOT / PACKAGE
    with tempfile.TemporaryDirectory() as scratch:
        generate(Path(scratch))
        fresh = generated_in(Path(scratch) / PACKAGE)
        present = generated_in(target)
        stale = sorted(name for name in fresh.keys() | present.keys() if fresh.get(name) != present.get(name))
        if not stale:
            print(f"{PACKAGE}: {len(fresh)} generated files, all current")
            return 0
        if check:
            print(f"{PACKAGE}: out of date, run `make proto`: {', '.join(stale)}", file=sys.stderr)
            return 1
        for name in stale:
            if name in fresh:
                shutil.copyfile(Path(scratch) / PACKAGE / name, target / name)
            else:
                (target / name).unlink()
        print(f"{PACKAGE}: updated {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
