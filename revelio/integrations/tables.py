"""What integrations remember, in Revelio's own database: which deliveries were taken, and which alerts are open."""

from __future__ import annotations

from sqlalchemy import Column, Engine, Float, Integer, MetaData, String, Table, Text
from sqlalchemy.exc import SQLAlchemyError

from revelio.store.engine import as_store_error, open_engine

METADATA = MetaData()

DELIVERIES = Table(
    "integration_deliveries",
    METADATA,
    Column("key", String(300), primary_key=True),
    Column("taken_at", Float, nullable=False, index=True),
)

ALERTS = Table(
    "integration_alerts",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("source", String(32), nullable=False),
    Column("key", String(64), nullable=False, index=True),
    Column("open_key", String(64), unique=True),
    Column("started", String(64), nullable=False),
    Column("title", Text, nullable=False),
    Column("report", Text, nullable=False),
    Column("system", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("opened_at", Float, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("resolved_at", Float),
    Column("claimed_at", Float),
    Column("answer_id", Text),
    Column("failure", Text),
    Column("channel", Text),
    Column("thread", Text),
)


def open_tables(url: str) -> Engine:
    """An engine on a database that has these tables; ``StoreError`` when it cannot be opened."""
    engine = open_engine(url).execution_options(revelio_write="durable")
    with as_store_error("make the tables of the integrations"):
        try:
            METADATA.create_all(engine)
        except SQLAlchemyError:
            METADATA.create_all(engine)  # another process made them in between; what fails twice is an error
    return engine
