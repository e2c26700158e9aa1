"""What each application's ordinary visitors do: one module an application, Locust users in its ``USERS``."""
