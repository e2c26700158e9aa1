"""All settings: read once, at the edge."""

from revelio.settings.settings import BUNDLED, Backend, LearningSettings, OidcSettings, Settings, SystemSettings, load_settings

__all__ = ["BUNDLED", "Backend", "LearningSettings", "OidcSettings", "Settings", "SystemSettings", "load_settings"]
