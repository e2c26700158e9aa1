"""What integrations remember, in Revelio's own database: which deliveries were taken, and which alerts are open."""

from __future__ import annotations

from sqlalchemy import Column, Engine, Float, Integer, MetaData, String, Table, Text
from sqlalchemy.exc import SQLAlchemyError

from revelio.store.engine import Database, as_store_error

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


def make_tables(database: Database) -> Engine:
    """An engine on an open database that has these tables, whose commits are on disk; ``StoreError`` when that fails."""
    with as_store_error("make the tables of the integrations"):
        try:
            METADATA.create_all(database.durable)
        except SQLAlchemyError:
            METADATA.create_all(database.durable)  # another process made them in between; what fails twice is an error
    return database.durable
