#!/bin/sh
# Build the image `ricordo` with what is there: docker, podman, or buildah, which needs no daemon.
#
# sh deploy/build.sh              from the image of deploy/Dockerfile
# PYTHON_IMAGE=docker.io/library/python:3.12 sh deploy/build.sh    from another one
# sh deploy/build.sh --debian     with buildah and mmdebstrap, without a registry
#
# BUILDER chooses the builder, IMAGE the name; other options are the builder's.
set -eu
cd "$(dirname "$0")/.."

from_debian() {
    packages=$(mktemp -d)
    trap 'rm -rf "$packages"' EXIT
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates \
        bookworm "$packages/base.tar"
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$packages/base.tar" / >/dev/null
    buildah commit --quiet --rm "$container" localhost/ricordo-base >/dev/null
    PYTHON_IMAGE=localhost/ricordo-base
    BUILDER=buildah
}

if [ "${1:-}" = --debian ]; then
    shift
    from_debian
fi
builder=${BUILDER:-}
for one in docker podman buildah; do
    [ -n "$builder" ] || ! command -v "$one" >/dev/null || builder=$one
done
case $builder in
docker | podman) ;;
buildah) set -- --isolation chroot --format docker "$@" ;; # its own format has no health check
*)
    echo "Building an image needs docker, podman or buildah (Debian: apt-get install buildah)." >&2
    exit 1
    ;;
esac
[ -z "${PYTHON_IMAGE:-}" ] || set -- --build-arg "PYTHON_IMAGE=$PYTHON_IMAGE" "$@"
"$builder" build --file deploy/Dockerfile --tag "${IMAGE:-ricordo}" "$@" .
