"""``revelio mcp``: the MCP server over standard input and output."""

from __future__ import annotations

from revelio.cli.engine import open_service
from revelio.cli.output import Json, emit, say
from revelio.extras import extras_for

TOOLS = ("list_places", "recommend", "run_query", "give_feedback")


def mcp(json: Json = False) -> None:
    """Serve an assistant's tools (MCP) on standard input and output.

    The assistant starts this command itself.
    With --json nothing is served: how to name this server to an assistant is printed. `revelio serve` has the same tools at
    /mcp, with the API's tokens. docs/how-to/assistants.md tells more.

    \b
    Examples:
      revelio mcp --json
      revelio mcp
    """
    with extras_for("the MCP server"):
        from revelio.integrations.mcp import mcp_server
    if json:
        emit({"mcpServers": {"revelio": {"command": "revelio", "args": ["mcp"]}}, "tools": TOOLS})
        return

    service = open_service()
    say("Revelio's tools are on standard input and output; Ctrl-C ends it")
    try:
        mcp_server(service).run("stdio")
    except KeyboardInterrupt:
        say("ending")
    finally:
        service.close()
