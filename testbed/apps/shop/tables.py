"""The shop's tables, made once by whichever service comes first, and their indexes, made with the first data."""

from __future__ import annotations

from kit import outbox

SCHEMA = (
    outbox.SCHEMA
    + """
CREATE TABLE IF NOT EXISTS products (
  id integer PRIMARY KEY, name text NOT NULL, category text NOT NULL, description text NOT NULL,
  price integer NOT NULL CHECK (price > 0), weight integer NOT NULL CHECK (weight > 0),
  stock integer NOT NULL CHECK (stock >= 0), sold integer NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS reservations (
  order_id bigint PRIMARY KEY, state text NOT NULL, products integer[] NOT NULL, quantities integer[] NOT NULL,
  prices integer[] NOT NULL, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS accounts (
  id bigserial PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL, password text NOT NULL,
  since timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS zones (
  country text PRIMARY KEY, zone text NOT NULL, free_from integer NOT NULL, days integer NOT NULL, cut_off integer NOT NULL);
CREATE TABLE IF NOT EXISTS tariffs (
  zone text NOT NULL, up_to integer NOT NULL, cost integer NOT NULL, PRIMARY KEY (zone, up_to));
CREATE TABLE IF NOT EXISTS payments (
  token text PRIMARY KEY, owner text NOT NULL, amount integer NOT NULL, card text NOT NULL, state text NOT NULL,
  order_id bigint, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS ledger (
  id bigserial PRIMARY KEY, owner text NOT NULL, token text NOT NULL, kind text NOT NULL, order_id bigint NOT NULL,
  amount integer NOT NULL CHECK (amount > 0), at timestamptz NOT NULL DEFAULT now(), UNIQUE (token, kind));
CREATE TABLE IF NOT EXISTS orders (
  id bigserial PRIMARY KEY, owner text NOT NULL, key text NOT NULL, cart text NOT NULL, token text NOT NULL,
  country text NOT NULL, state text NOT NULL, total integer NOT NULL DEFAULT 0, shipping integer NOT NULL DEFAULT 0,
  arrives date, at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS order_lines (
  order_id bigint NOT NULL, product integer NOT NULL, quantity integer NOT NULL CHECK (quantity > 0),
  price integer NOT NULL, PRIMARY KEY (order_id, product));
CREATE TABLE IF NOT EXISTS messages (
  id bigserial PRIMARY KEY, owner text NOT NULL, order_id bigint NOT NULL UNIQUE, subject text NOT NULL, body text NOT NULL,
  total integer NOT NULL, at timestamptz NOT NULL DEFAULT now(), read_at timestamptz);
"""
)
SEARCHED = "to_tsvector('english', name || ' ' || category || ' ' || description)"
"""What a search looks at; a query must say it to the letter to be served by the index."""
INDEXES = f"""
CREATE INDEX products_text ON products USING gin (({SEARCHED}));
CREATE INDEX products_sold ON products (sold DESC, id);
CREATE INDEX ledger_owner ON ledger (owner, id DESC);
CREATE UNIQUE INDEX orders_key ON orders (owner, key) WHERE state <> 'cancelled';
CREATE INDEX orders_owner ON orders (owner, id DESC);
CREATE INDEX orders_open ON orders (at) WHERE state IN ('placing', 'charging', 'cancelling');
ALTER TABLE order_lines ADD FOREIGN KEY (order_id) REFERENCES orders (id);
CREATE INDEX order_lines_product ON order_lines (product);
CREATE INDEX messages_owner ON messages (owner, id DESC);
CREATE INDEX messages_unread ON messages (owner) WHERE read_at IS NULL;
ANALYZE products, accounts, payments, ledger, orders, order_lines, messages, zones, tariffs;
"""
