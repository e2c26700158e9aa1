"""How exporters and instrumentations store what can be measured, and what one system's profile makes of it."""

from revelio.conventions.loader import conventions, signals
from revelio.conventions.model import Convention, Label, Rule, Signal
from revelio.conventions.profile import Cadence, Profile, Use, recorded_profile

__all__ = ["Cadence", "Convention", "Label", "Profile", "Rule", "Signal", "Use", "conventions", "recorded_profile", "signals"]
