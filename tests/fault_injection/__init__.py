"""Tests of fault injection and campaigns."""
