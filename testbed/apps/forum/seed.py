"""What the forum holds on its first day: communities, members, posts, comments, votes and inboxes, the same every time."""

from __future__ import annotations

import logging

from asyncpg.pool import PoolConnectionProxy

from apps.forum.ranking import HOT_SQL
from apps.forum.words import ANIMALS, COMMON, COMMUNITIES, KINDS, OPENINGS, SUBJECTS, TOPICS
from kit.passwords import hash_password
from kit.schema import SEED_SECONDS

log = logging.getLogger(__name__)
MEMBERS = 20_000
POSTS = 60_000
COMMENTS = 250_000
PASSWORD = "correct horse battery"
"""Every member of the first day has it."""
_SENTENCES = """
CREATE TEMP TABLE sentences ON COMMIT DROP AS
SELECT n, initcap(w[1]) || ' ' || array_to_string(w[2:], ' ') || '.' AS text, array_to_string(w[2:6], ' ') AS title
FROM (SELECT n, array_agg(CASE WHEN random() < 0.4 THEN ($1::text[])[1 + floor(random() * cardinality($1))::int]
                               ELSE ($2::text[])[1 + floor(random() * cardinality($2))::int] END) AS w
      FROM generate_series(0, 4095) n, generate_series(1, 9 + n % 8) GROUP BY n) words"""
_MEMBERS = """
INSERT INTO users (id, name, password, at)
SELECT n, ($1::text[])[1 + n % cardinality($1)] || n, $2, now() - interval '3 years' + n * interval '20 min'
FROM generate_series(1, $3::int) n"""
_VOTES_ON_POSTS = """
INSERT INTO votes (voter, item, value, version, counted, counted_version, kind)
SELECT 1 + ((item::bigint * 31 + k * 7919) % $2::int)::int, item, v, 1, v, 1, 'post'
FROM (SELECT item, least(400, floor(-ln(1 - random()) * 7.6))::int AS c FROM generate_series(1, $1::int) item) counts,
  generate_series(1, c) k,
  LATERAL (SELECT CASE WHEN (item * 13 + k * 29) % 100 < 60 + item % 36 THEN 1 ELSE -1 END AS v) ballots"""
_VOTES_ON_COMMENTS = """
INSERT INTO votes (voter, item, value, version, counted, counted_version, kind)
SELECT 1 + ((item::bigint * 17 + k * 6271) % $2::int)::int, item, v, 1, v, 1, 'comment'
FROM (SELECT item, floor(-ln(1 - random()) * 1.1)::int AS c FROM generate_series(1, $1::int) item) counts,
  generate_series(1, c) k, LATERAL (SELECT CASE WHEN (item * 7 + k * 31) % 100 < 78 THEN 1 ELSE -1 END AS v) ballots"""
_THREADS = """
CREATE TEMP TABLE threads ON COMMIT DROP AS
SELECT id, post, CASE WHEN reply THEN root END AS parent, CASE WHEN reply THEN root ELSE id END AS root, reply,
  1 + floor(power(random(), 1.4) * $3::int)::int AS author
FROM (SELECT id, first_value(id) OVER (PARTITION BY post, branch ORDER BY id) AS root, post,
        row_number() OVER (PARTITION BY post, branch ORDER BY id) > 1 AS reply
      FROM (SELECT id, CASE WHEN id % 10 < 3 THEN 100 * (1 + floor(random() * $2::int / 100))::int
                        ELSE 1 + floor(power(random(), 0.8) * $2::int)::int END AS post, id % 3 AS branch
            FROM generate_series(1, $1::int) id) placed) grown"""
_POSTS = f"""
INSERT INTO posts (id, community, author, key, title, body, score, comments, hot, at)
SELECT id, community, author, 'first-' || id, title, body, score, comments, {HOT_SQL}, at
FROM (SELECT id, community, author, title, body, at, coalesce(score, 0)::int AS score, coalesce(comments, 0) AS comments
FROM (SELECT g AS id, 1 + floor(power(whereabouts, 1.7) * $2::int)::int AS community,
        1 + floor(power(whose, 1.4) * $3::int)::int AS author,
        ($4::text[])[1 + g % cardinality($4)] || ' ' || ($5::text[])[1 + g / 7 % cardinality($5)] || ' '
          || ($6::text[])[1 + g * 31 / 13 % cardinality($6)] AS title,
        a.text || ' **' || b.title || '**, ' || b.text || E'\\n\\n> ' || c.text || E'\\n\\n- ' || d.title || E'\\n- *'
          || a.title || E'*\\n\\n' || d.text AS body,
        now() - ($1::int - g) * interval '9 min' - interval '9 min' AS at
      FROM (SELECT g, random() AS whereabouts, random() AS whose FROM generate_series(1, $1::int) g) drawn
        JOIN sentences a ON a.n = g % 4096
        JOIN sentences b ON b.n = (g * 7 + g / 4096) % 4096 JOIN sentences c ON c.n = (g * 11 + g / 512) % 4096
        JOIN sentences d ON d.n = (g * 13 + g / 64) % 4096) written
  LEFT JOIN (SELECT item AS id, sum(value) AS score FROM votes WHERE kind = 'post' GROUP BY item) voted USING (id)
  LEFT JOIN (SELECT post AS id, count(*) AS comments FROM threads GROUP BY post) answered USING (id)) counted"""
_COMMENTS = """
INSERT INTO comments (id, post, parent, root, depth, author, key, body, score, at)
SELECT t.id, t.post, t.parent, t.root, t.reply::int, t.author, 'first-' || t.id,
  a.text || ' ' || CASE WHEN t.id % 4 = 0 THEN '**' || b.title || '**.' ELSE b.text END, coalesce(voted.score, 0),
  p.at + (now() - p.at) * (t.id::float8 / ($1::int + 1))
FROM threads t JOIN posts p ON p.id = t.post JOIN sentences a ON a.n = t.id % 4096
  JOIN sentences b ON b.n = (t.id * 5 + t.id / 4096) % 4096
  LEFT JOIN (SELECT item, sum(value) AS score FROM votes WHERE kind = 'comment' GROUP BY item) voted ON voted.item = t.id"""
_KARMA = """
UPDATE users SET karma = earned.karma FROM (
  SELECT author, sum(score) AS karma FROM (SELECT author, score FROM posts UNION ALL SELECT author, score FROM comments) written
  GROUP BY author) earned WHERE earned.author = users.id"""
_INBOX = """
INSERT INTO inbox (owner, kind, source, sender, post, excerpt, read_at, at)
SELECT owner, 'reply', id, sender, post, '<p>' || text || '</p>', CASE WHEN id % 5 > 0 THEN at END, at
FROM (SELECT c.id, coalesce(up.author, p.author) AS owner, c.author AS sender, c.post, c.at,
        left(replace(c.body, '**', ''), 140) AS text
      FROM comments c JOIN posts p ON p.id = c.post LEFT JOIN comments up ON up.id = c.parent
      WHERE c.id > $1::int * 4 / 5) replies
WHERE owner <> sender ORDER BY id"""
_KEYS = (
    "ALTER TABLE communities ADD PRIMARY KEY (id), ADD UNIQUE (name)",
    "ALTER TABLE users ADD PRIMARY KEY (id)",
    "CREATE UNIQUE INDEX users_name ON users (lower(name))",
    "ALTER TABLE posts ADD PRIMARY KEY (id), ADD CONSTRAINT posts_key UNIQUE (author, key)",
    "CREATE INDEX posts_hot ON posts (hot DESC, id DESC) WHERE score >= 2",
    "CREATE INDEX posts_community ON posts (community, id DESC)",
    "CREATE INDEX posts_author ON posts (author, id DESC)",
    "ALTER TABLE comments ADD PRIMARY KEY (id), ADD CONSTRAINT comments_key UNIQUE (author, key)",
    "CREATE INDEX comments_post ON comments (post, id DESC)",
    "CREATE INDEX comments_author ON comments (author, id DESC)",
    "ALTER TABLE votes ADD PRIMARY KEY (voter, item, kind)",
    "ALTER TABLE messages ADD PRIMARY KEY (id), ADD CONSTRAINT messages_key UNIQUE (sender, key)",
    "ALTER TABLE inbox ADD PRIMARY KEY (id), ADD CONSTRAINT inbox_source UNIQUE (kind, source)",
    "CREATE INDEX inbox_owner ON inbox (owner, id DESC)",
    "CREATE INDEX inbox_unread ON inbox (owner) WHERE read_at IS NULL",
)


async def seed(connection: PoolConnectionProxy) -> None:
    """Fill empty tables; scores, karma and counts agree with the votes and comments."""

    async def do(statement: str, *given: object) -> None:
        await connection.execute(statement, *given, timeout=SEED_SECONDS)

    log.info("filling the forum with its first posts")
    await do("SELECT setseed(0.42)")
    await do(_SENTENCES, list(COMMON), list(TOPICS))
    await connection.copy_records_to_table(
        "communities", records=[(n, name, name.title(), about) for n, (name, about) in enumerate(COMMUNITIES.items(), start=1)]
    )
    await do(_MEMBERS, list(ANIMALS), await hash_password(PASSWORD), MEMBERS)
    await do(_VOTES_ON_POSTS, POSTS, MEMBERS)
    await do(_VOTES_ON_COMMENTS, COMMENTS, MEMBERS)
    await do(_THREADS, COMMENTS, POSTS, MEMBERS)
    await do(_POSTS, POSTS, len(COMMUNITIES), MEMBERS, list(OPENINGS), list(KINDS), list(SUBJECTS))
    await do(_COMMENTS, COMMENTS)
    await do(_KARMA)
    await do(_INBOX, COMMENTS)
    for statement in _KEYS:
        await do(statement)
    for table in ("users", "posts", "comments"):
        await do(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))")
    await do("ANALYZE")
    # After the look at the rows, which would otherwise parse every text once more.
    await do("CREATE INDEX posts_words ON posts USING gin (to_tsvector('english', title || ' ' || body))")
    log.info("the forum is filled")
