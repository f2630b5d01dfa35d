#!/usr/bin/env bash
# Rewrites requirements/*.lock: `make lock`. The resolver is uv, in a throw-away environment.
# The platform and the Python versions are set in [tool.uv] of pyproject.toml. A lock keeps its pins where they still
# fit; `make lock UPGRADE=1` takes the newest versions. A pin has the hashes of all files that the index now has for it.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --no-deps --require-hashes -r requirements/resolver.lock

pins() {  # prints the pins of a lock without their hashes
    sed -e '/^ /d' -e 's/ \\$//' "requirements/$1.lock"
}

lock() {  # writes a lock; arguments: its name, further arguments of `uv pip compile`
    local name=$1 lock=requirements/$1.lock
    shift
    if [ -z "${UPGRADE:-}" ] && [ -e "$lock" ]; then pins "$name" > "$scratch/$name.lock"; fi
    "$scratch/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --overrides requirements/overrides.txt "$@" \
        --output-file "$scratch/$name.lock" "requirements/$name.in"
    {
        echo "# Linux on x86-64, CPython 3.11 to 3.14. Written by \`make lock\` from $name.in; install with --no-deps."
        # uv repeats on every line the conditions that apply to the whole file
        sed -E -e "/^#/d" \
            -e "s/(implementation_name|platform_python_implementation|platform_machine|sys_platform) == '[^']*'( and )?//g" \
            -e "s/python_full_version < '3.15'( and )?//; s/( and | ;) *\\\\$/ \\\\/" "$scratch/$name.lock"
    } > "$scratch/$name.done"
    mv "$scratch/$name.done" "$lock"
    echo "$lock: $(grep -c == "$lock") pins"
}

lock cpu --excludes requirements/cpu-excludes.txt --excludes requirements/excludes.txt
pins cpu > "$scratch/cpu.txt"
{
    echo "# Written by \`make lock\` from cpu.in. Installed by a call of its own, as it has no hash that holds everywhere: the CPU"
    echo "# build of this version is another file than PyPI's, which is for CUDA, and each index or folder has its own."
    grep '^torch==' "$scratch/cpu.txt"
} > requirements/cpu-unhashed.txt
sed -i '/^torch==/,/[^\\]$/d' requirements/cpu.lock
# Packages of both sets have the same version, except for two that each vLLM pins to its own.
grep -vE '^(apache-tvm-ffi|setuptools)==' "$scratch/cpu.txt" > "$scratch/shared.txt"
lock gpu --excludes requirements/excludes.txt --constraints "$scratch/shared.txt"
lock evidence --constraints "$scratch/cpu.txt"
lock docs --constraints "$scratch/cpu.txt"
lock resolver
