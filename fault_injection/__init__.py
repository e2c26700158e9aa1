"""Faults as data, and campaigns of real runs that record labelled incidents."""
