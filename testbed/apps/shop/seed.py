"""Tables and first data, made once by whichever service comes first."""

from __future__ import annotations

import random

from asyncpg.pool import PoolConnectionProxy

from apps.shop.pricing import shipping, total

PRODUCTS = 4_000
LIMITED = 100
"""The last so many products are limited editions: they do sell out."""
PAST_ORDERS = 3_000
_LOCK = 77_001
_SCHEMA = """
CREATE TABLE IF NOT EXISTS products (
  id integer PRIMARY KEY, name text NOT NULL, category text NOT NULL, description text NOT NULL,
  price integer NOT NULL CHECK (price > 0), stock integer NOT NULL CHECK (stock >= 0), sold integer NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS products_sold ON products (sold DESC, id);
CREATE TABLE IF NOT EXISTS payments (
  token text PRIMARY KEY, amount integer NOT NULL, card text NOT NULL, state text NOT NULL, order_id bigint,
  at timestamptz NOT NULL DEFAULT now());
CREATE TABLE IF NOT EXISTS orders (
  id bigserial PRIMARY KEY, session text NOT NULL, key text NOT NULL, total integer NOT NULL, shipping integer NOT NULL,
  token text NOT NULL, state text NOT NULL, at timestamptz NOT NULL DEFAULT now(), UNIQUE (session, key));
CREATE INDEX IF NOT EXISTS orders_session ON orders (session, id DESC);
CREATE TABLE IF NOT EXISTS order_lines (
  order_id bigint NOT NULL REFERENCES orders (id), product integer NOT NULL, quantity integer NOT NULL CHECK (quantity > 0),
  price integer NOT NULL, PRIMARY KEY (order_id, product));
"""
_MAKES = ("Linen", "Wool", "Oak", "Steel", "Cotton", "Glass", "Copper", "Bamboo", "Cork", "Marble", "Walnut", "Canvas")
_THINGS = {
    "clothes": ("shirt", "scarf", "jacket", "trousers", "socks", "hat", "dress", "gloves"),
    "kitchen": ("pan", "kettle", "bowl", "knife", "board", "jar", "ladle"),
    "living": ("lamp", "cushion", "blanket", "clock", "vase", "stool", "shelf"),
    "bath": ("towel", "mirror", "basket", "mat", "dish"),
}
_WORDS = ("soft", "durable", "handmade", "light", "classic", "warm", "simple", "washable", "large", "small", "patterned", "plain")


async def prepare(connection: PoolConnectionProxy) -> None:
    """Make tables and products when they are not there yet; safe when several services start at once."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_SCHEMA)
        if await connection.fetchval("SELECT count(*) FROM products"):
            return
        products = _products()
        await connection.copy_records_to_table(
            "products", records=products, columns=("id", "name", "category", "description", "price", "stock", "sold")
        )
        await _past_orders(connection, {row[0]: row[4] for row in products})


def _products() -> list[tuple[int, str, str, str, int, int, int]]:
    rng = random.Random(7)
    rows = []
    for number in range(1, PRODUCTS + 1):
        category = rng.choice(tuple(_THINGS))
        name = f"{rng.choice(_MAKES)} {rng.choice(_THINGS[category])} no. {number}"
        description = " ".join(rng.choices(_WORDS, k=25))
        limited = number > PRODUCTS - LIMITED
        stock, sold = (rng.randrange(8, 40), 0) if limited else (1_000_000, rng.randrange(1, 500))
        rows.append((number, name, category, description, rng.randrange(390, 19_900), stock, sold))
    return rows


async def _past_orders(connection: PoolConnectionProxy, prices: dict[int, int]) -> None:
    """Orders of earlier customers, paid for in full."""
    rng = random.Random(11)
    numbers = list(prices)[:-LIMITED]
    payments, orders, lines = [], [], []
    for order in range(1, PAST_ORDERS + 1):
        bought = {product: rng.randint(1, 3) for product in rng.sample(numbers, rng.randint(1, 3))}
        goods = total([(prices[product], quantity) for product, quantity in bought.items()])
        due, token = goods + shipping(goods), f"{rng.getrandbits(128):032x}"
        payments.append((token, due, "****1111", "captured", order))
        orders.append((order, f"{rng.getrandbits(128):032x}", f"past-{order}", due, shipping(goods), token, "paid"))
        lines += [(order, product, quantity, prices[product]) for product, quantity in bought.items()]
    await connection.copy_records_to_table("payments", records=payments, columns=("token", "amount", "card", "state", "order_id"))
    await connection.copy_records_to_table(
        "orders", records=orders, columns=("id", "session", "key", "total", "shipping", "token", "state")
    )
    await connection.copy_records_to_table("order_lines", records=lines, columns=("order_id", "product", "quantity", "price"))
    await connection.execute("SELECT setval('orders_id_seq', $1)", PAST_ORDERS)
