#!/bin/sh
# Make the secrets that deploy/compose.yaml reads, each in a file of the folder deploy/secrets.
# What is there already stays as it is: a password that changed here would not change in the database.
set -eu
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"
# The folder keeps others out. The files themselves are readable, because in the containers, where
# they are mounted one by one, other users than the one of this folder read them.
chmod 700 "$folder"
umask 022

random() { head -c "$1" /dev/urandom | base64 | tr -d '\n' | tr '+/' '-_'; }

make() { # a name and its content
    [ -s "$folder/$1" ] || printf '%s\n' "$2" > "$folder/$1"
}

make postgres_password "$(random 24)"
make owner_password "$(random 24)"
make app_password "$(random 24)"
make owner_url "postgresql://ricordo_owner:$(cat "$folder/owner_password")@database/ricordo"
make app_url "postgresql://ricordo_app:$(cat "$folder/app_password")@database/ricordo"
make secret_key "$(random 32)"
