"""The process around the application: connections, their deadlines, and how it ends."""
