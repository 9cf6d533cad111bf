#!/bin/sh
# Every static check, each by name; all of them run, and the exit code says whether all passed.
set -u
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=""

step() {
  name=$1
  shift
  printf 'check: %s\n' "$name"
  "$@" || failed="$failed
  $name"
}
skip() { printf 'check: %s: skipped, %s\n' "$1" "$2"; }

step "style (ruff)" "$bin/ruff" check --quiet .
step "format (ruff)" "$bin/ruff" format --quiet --check .
step "types (mypy)" "$bin/mypy" --no-error-summary
step "types of the tests (mypy)" "$bin/mypy" --no-error-summary tests tools examples
step "import rule (import-linter)" "$bin/lint-imports" --no-logo
step "protos (buf lint)" "$bin/buf" lint
step "format of the protos (buf)" "$bin/buf" format --exit-code --diff proto
if [ -f proto/baseline.binpb ]; then
  step "API changes (buf breaking)" "$bin/buf" breaking proto --against proto/baseline.binpb
else
  skip "API changes (buf breaking)" "nothing is released yet (proto/baseline.binpb, made by make proto-baseline)"
fi
# Each generator (code, docs) takes --check and compares what it would write with what is there.
for generator in tools/generate_*.py; do
  step "what $generator writes" "$bin/python" "$generator" --check
done

if [ -n "$failed" ]; then
  printf 'check: FAILED:%s\n' "$failed"
  exit 1
fi
echo "check: all passed"
