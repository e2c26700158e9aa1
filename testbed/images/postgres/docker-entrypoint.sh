#!/bin/bash
# Makes the database cluster on the first start (POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB, /docker-entrypoint-initdb.d), then runs the
# server: the part of the official image's entrypoint that the testbed relies on.
set -euo pipefail

if [ "${1:0:1}" = "-" ]; then
    set -- postgres "$@"
fi
if [ "$1" != postgres ]; then
    exec "$@"
fi
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown postgres:postgres "$PGDATA"
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?set POSTGRES_PASSWORD to make a database cluster}"
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    initdb --pgdata="$PGDATA" --username="$user" --pwfile=<(echo "$POSTGRES_PASSWORD") --encoding=UTF8 --auth-local=trust \
        --auth-host=scram-sha-256
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    # No TCP while the cluster is filled, so that nobody takes a half-made database for a ready one.
    pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses=''" --wait start
    if [ "$database" != postgres ]; then
        createdb --username="$user" --maintenance-db=postgres "$database"
    fi
    for file in /docker-entrypoint-initdb.d/*; do
        case "$file" in
            *.sql) echo "running $file" && psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="$user" --dbname="$database" --file="$file" ;;
            *.sh) echo "running $file" && bash "$file" ;;
        esac
    done
    pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop
fi
exec "$@"
