"""What there is on the first day: a month of trains, travellers, what they booked before and what they have booked ahead."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from asyncpg.pool import PoolConnectionProxy

from apps.travel.network import lines, stations
from kit.passwords import hash_password
from kit.schema import SEED_SECONDS

log = logging.getLogger(__name__)
DAYS = 31
RUNS_A_DAY = 30
"""Trains of one line from midnight to midnight, every second one back."""
TRAVELLERS = 20_000
PAST_BOOKINGS = 150_000
BOOKINGS_AHEAD = 20_000
PASSWORD = "mind the gap please"
"""Every traveller of the first day has it."""
_FIRST_NAMES = [
    "Ada", "Ben", "Cleo", "Dan", "Edda", "Finn", "Greta", "Hugo", "Ines", "Jon", "Kira", "Leo", "Mona", "Nils", "Olga",
    "Paul", "Rosa", "Sven", "Tilda", "Umar",
]  # fmt: skip
_LAST_NAMES = [
    "Archer", "Baker", "Carter", "Dyer", "Fisher", "Glover", "Hunter", "Mason", "Miller", "Porter", "Sawyer", "Slater",
    "Tanner", "Turner", "Weaver", "Wright",
]  # fmt: skip

_RUNS = """
INSERT INTO runs (id, line, coaches)
SELECT (day * $1 + l.id - 1) * $2 + i + 1, l.id, l.coaches FROM lines l, generate_series(0, $3 - 1) day,
  generate_series(0, $2 - 1) i ORDER BY 1"""
_STOPS = """
INSERT INTO stops (run, position, station, arrives, departs, km, platform)
SELECT (day * $1 + l.line - 1) * $2 + i + 1, p.position, l.station,
  CASE WHEN p.position > 0 THEN start + p.minutes * interval '1 min' END,
  CASE WHEN p.position < l.last THEN start + (p.minutes + CASE WHEN p.position > 0 THEN 2 ELSE 0 END) * interval '1 min' END,
  p.km, 1 + (l.line * 5 + l.position * 3 + i) % 8
FROM generate_series(0, $3 - 1) day, generate_series(0, $2 - 1) i, line_stops l,
  LATERAL (SELECT $4::timestamptz + day * interval '1 day' + (i * 48 + l.line * 7 % 48) * interval '1 min' AS start) s,
  LATERAL (SELECT CASE WHEN i % 2 = 0 THEN l.position ELSE l.last - l.position END AS position,
                  CASE WHEN i % 2 = 0 THEN l.minutes ELSE l.whole_minutes - l.minutes END AS minutes,
                  CASE WHEN i % 2 = 0 THEN l.km ELSE l.whole_km - l.km END AS km) p
ORDER BY 1, 2"""
_TRAVELLERS = """
INSERT INTO accounts (id, email, name, password)
SELECT n, 'traveller' || n || '@example.org',
  ($1::text[])[1 + n % cardinality($1)] || ' ' || ($2::text[])[1 + n * 7 % cardinality($2)], $3
FROM generate_series(1, $4::int) n"""
_REFERENCE = "'P' || upper(lpad(to_hex((n::bigint * 2654435761) % 4294967296), 8, '0'))"
"""The multiplier is odd, so that no two numbers give the same reference."""
_PAST = f"""
INSERT INTO bookings (id, reference, account, key, state, name, trip, run, comfort, adults, children, card, line, origin,
  destination, departs, arrives, seats, total, refund, made_at, changed_at)
SELECT n, {_REFERENCE}, a.id, 'past-' || n,
  CASE WHEN n % 50 = 0 THEN 'expired' WHEN n % 12 = 0 THEN 'cancelled' ELSE 'ticketed' END, a.name,
  '0-' || e.origin || '-' || e.destination, 0, 2, 1, 0, (ARRAY['none', 'quarter', 'half', 'youth'])[1 + n % 4], e.name, e.origin,
  e.destination, departs, departs + interval '2 h', ARRAY[101 + n % 24], 1500 + n * 137 % 9000 / 5 * 5,
  CASE WHEN n % 12 = 0 AND n % 50 <> 0 THEN (1500 + n * 137 % 9000 / 5 * 5) / (1 + n / 12 % 2) END, made_at, made_at
FROM generate_series(1, $2::int) n
  JOIN accounts a ON a.id = 1 + n * 31 % $3::int JOIN line_ends e ON e.line = 1 + n % $4,
  LATERAL (SELECT $1::timestamptz - ($2 - n + 1) * interval '3 min' AS made_at) m,
  LATERAL (SELECT least(made_at + (1 + n % 20) * interval '7 h', $1 - interval '3 h') AS departs) d"""
_AHEAD = f"""
INSERT INTO bookings (id, reference, account, key, state, name, trip, run, comfort, adults, children, card, line, origin,
  destination, departs, arrives, seats, total, made_at, changed_at)
SELECT n, {_REFERENCE}, a.id, 'ahead-' || n, 'ticketed', a.name, r.id || '-' || f.station || '-' || t.station, r.id, 2, 1, 0,
  'none', l.name, f.station, t.station, f.departs, t.arrives, ARRAY[100 * r.coaches + 1 + (n / ($4 / 4)) % 4 * 5],
  1500 + n * 137 % 9000 / 5 * 5, $1, $1
FROM generate_series($2::int + 1, $2 + $4::int) n
  JOIN accounts a ON a.id = 1 + n * 31 % $3::int JOIN runs r ON r.id = 1 + n % ($4 / 4) * 7 JOIN lines l ON l.id = r.line
  JOIN stops f ON f.run = r.id AND f.arrives IS NULL JOIN stops t ON t.run = r.id AND t.departs IS NULL"""
_CAPTURES = """
INSERT INTO ledger (payment, kind, booking, account, amount, card, at)
SELECT reference || '-1', 'payment', reference, account, total, '****4242', made_at FROM bookings WHERE state <> 'expired'"""
_REFUNDS = """
INSERT INTO ledger (payment, kind, booking, account, amount, card, at)
SELECT reference || '-1', 'refund', reference, account, refund, '****4242', changed_at FROM bookings WHERE state = 'cancelled'"""
_SOLD = "INSERT INTO taken (run, seat, booking, state) SELECT run, unnest(seats), reference, 'sold' FROM bookings WHERE run > 0"
_TICKETS = """
INSERT INTO tickets (booking, account, state, facts, issued_at)
SELECT reference, account, 'valid', jsonb_build_object('name', name, 'line', line, 'origin', origin, 'destination', destination,
  'departs', departs, 'arrives', arrives, 'comfort', comfort, 'seats', seats, 'total', total), made_at
FROM bookings WHERE run > 0"""
_INDEXES = """
ALTER TABLE stations ADD CONSTRAINT stations_pkey PRIMARY KEY (code);
ALTER TABLE lines ADD CONSTRAINT lines_pkey PRIMARY KEY (id);
ALTER TABLE runs ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
ALTER TABLE stops ADD CONSTRAINT stops_pkey PRIMARY KEY (run, position);
CREATE INDEX stops_station_departs ON stops (station, departs);
ALTER TABLE accounts ADD CONSTRAINT accounts_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX accounts_email ON accounts (email);
ALTER TABLE taken ADD CONSTRAINT taken_pkey PRIMARY KEY (run, seat);
CREATE INDEX taken_booking ON taken (booking);
ALTER TABLE bookings ADD CONSTRAINT bookings_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX bookings_reference ON bookings (reference);
CREATE UNIQUE INDEX bookings_account_key ON bookings (account, key);
CREATE INDEX bookings_account ON bookings (account, id DESC);
CREATE INDEX bookings_open ON bookings (changed_at) WHERE state IN ('placing', 'failed', 'held', 'paying', 'paid', 'cancelling');
ALTER TABLE ledger ADD CONSTRAINT ledger_pkey PRIMARY KEY (payment, kind);
CREATE INDEX ledger_booking ON ledger (booking);
CREATE INDEX ledger_account ON ledger (account);
ALTER TABLE tickets ADD CONSTRAINT tickets_pkey PRIMARY KEY (booking);
ALTER TABLE messages ADD CONSTRAINT messages_pkey PRIMARY KEY (id);
CREATE UNIQUE INDEX messages_once ON messages (booking, kind);
CREATE INDEX messages_account ON messages (account, id DESC);
ANALYZE;
"""


async def seed(connection: PoolConnectionProxy) -> None:
    """Fill empty tables, then make their indexes; about ten seconds on one core. Days count from today, in UTC."""
    began = datetime.now(UTC)
    today = began.replace(hour=0, minute=0, second=0, microsecond=0)
    await _network(connection, today)
    hashed = await hash_password(PASSWORD)
    await connection.execute(_TRAVELLERS, _FIRST_NAMES, _LAST_NAMES, hashed, TRAVELLERS, timeout=SEED_SECONDS)
    count = len(lines())
    await connection.execute(_PAST, today, PAST_BOOKINGS, TRAVELLERS, count, timeout=SEED_SECONDS)
    # What was booked ahead joins runs and stops, which have no keys yet: their sizes must be known.
    await connection.execute("ANALYZE runs; ANALYZE stops; ANALYZE accounts", timeout=SEED_SECONDS)
    await connection.execute(_AHEAD, today, PAST_BOOKINGS, TRAVELLERS, BOOKINGS_AHEAD, timeout=SEED_SECONDS)
    for statement in (_CAPTURES, _REFUNDS, _SOLD, _TICKETS, _INDEXES):
        await connection.execute(statement, timeout=SEED_SECONDS)
    await connection.execute(
        "ALTER TABLE accounts ALTER id RESTART WITH 100000; ALTER TABLE bookings ALTER id RESTART WITH 1000000"
    )
    log.info("the tables are filled: it took %.1f s", (datetime.now(UTC) - began).total_seconds())


async def _network(connection: PoolConnectionProxy, today: datetime) -> None:
    """Stations and lines as they are, and all their trains from today on."""
    await connection.copy_records_to_table("stations", records=[(s.code, s.name, s.x, s.y) for s in stations()])
    await connection.copy_records_to_table(
        "lines", records=[(line.number, line.name, line.category.name, line.category.coaches) for line in lines()]
    )
    await connection.execute(
        "CREATE TEMP TABLE line_stops (line integer, position integer, station text, minutes integer, km integer, last integer,"
        " whole_minutes integer, whole_km integer) ON COMMIT DROP"
    )
    await connection.copy_records_to_table(
        "line_stops",
        records=[
            (line.number, i, s.station, s.minutes, s.km, len(line.stops) - 1, line.stops[-1].minutes, line.stops[-1].km)
            for line in lines()
            for i, s in enumerate(line.stops)
        ],
    )
    await connection.execute(
        "CREATE TEMP TABLE line_ends ON COMMIT DROP AS SELECT f.line, l.name, f.station AS origin, t.station AS destination"
        " FROM line_stops f JOIN line_stops t ON t.line = f.line AND t.position = t.last JOIN lines l ON l.id = f.line"
        " WHERE f.position = 0"
    )
    count = len(lines())
    await connection.execute(_RUNS, count, RUNS_A_DAY, DAYS, timeout=SEED_SECONDS)
    await connection.execute(_STOPS, count, RUNS_A_DAY, DAYS, today, timeout=SEED_SECONDS)
