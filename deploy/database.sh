#!/bin/sh
# Run once by the image of PostgreSQL, as its superuser, when it has made a new server: the roles, the
# database and pgvector. The tables are made by `ricordo migrate`.
set -eu
psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 \
    --set owner="$(cat /run/secrets/owner_password)" \
    --set app="$(cat /run/secrets/app_password)" \
    --username postgres --dbname postgres <<'END'
CREATE ROLE ricordo_owner LOGIN PASSWORD :'owner';
CREATE ROLE ricordo_app LOGIN PASSWORD :'app';
CREATE DATABASE ricordo OWNER ricordo_owner ENCODING 'UTF8' TEMPLATE template0;
\connect ricordo
CREATE EXTENSION vector;
END
