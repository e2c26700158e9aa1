"""How exporters and instrumentations store what can be measured, and what one system's profile makes of it."""

from revelio.catalog.conventions.loader import conventions, signals
from revelio.catalog.conventions.model import Convention, Label, Rule, Signal
from revelio.catalog.conventions.profile import Cadence, Profile, Use, recorded_profile

__all__ = ["Cadence", "Convention", "Label", "Profile", "Rule", "Signal", "Use", "conventions", "recorded_profile", "signals"]
