#!/bin/bash
# Runs Elasticsearch with every environment variable named like a setting (discovery.type=single-node) as that setting.
set -euo pipefail
settings=()
while IFS= read -r -d '' entry; do
    if [[ $entry =~ ^[a-z0-9_]+\.[a-z0-9_.]+= ]]; then
        settings+=("-E$entry")
    fi
done < <(env -0)
exec bin/elasticsearch "${settings[@]}"
