#!/bin/bash
# Puts the index template and the index before the first document, then becomes rsyslogd. Container logs lie on disk meanwhile: none is lost.
set -euo pipefail
: "${PROJECT:?the compose project whose logs are shipped}" "${ELASTICSEARCH_URL:?for example http://elasticsearch:9200}"
index="logs-$PROJECT"

until curl -fs -o /dev/null "$ELASTICSEARCH_URL/_cluster/health"; do
    sleep 0.5
done
sed "s/{index}/$index/" /etc/logshipper/index-template.json \
    | curl -fsS -o /dev/null -X PUT -H "Content-Type: application/json" --data-binary @- "$ELASTICSEARCH_URL/_index_template/$index"
if ! curl -fs -o /dev/null -I "$ELASTICSEARCH_URL/$index"; then
    curl -fsS -o /dev/null -X PUT "$ELASTICSEARCH_URL/$index"
fi
mkdir -p /var/spool/logshipper
rsyslogd -N1 -f /etc/logshipper/rsyslog.conf
rm -f /run/rsyslogd.pid
exec rsyslogd -n -f /etc/logshipper/rsyslog.conf
