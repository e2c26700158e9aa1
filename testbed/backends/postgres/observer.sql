-- Who looks at the database from outside: sees every statistic, reads no table, writes nothing.
CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
CREATE ROLE observer LOGIN PASSWORD 'observer' CONNECTION LIMIT 10 IN ROLE pg_monitor;
ALTER ROLE observer SET default_transaction_read_only = on;
ALTER ROLE observer SET statement_timeout = '5s';
ALTER ROLE observer SET lock_timeout = '1s';
ALTER ROLE observer SET idle_in_transaction_session_timeout = '10s';
-- What everybody may do unless it is taken away: temporary tables, large objects.
REVOKE TEMPORARY ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
