"""One file per debugging tool: snapshot, render, link, run. The core knows no tool by name."""
