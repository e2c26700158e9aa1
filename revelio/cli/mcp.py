"""``revelio mcp``: the MCP server over standard input and output."""

from __future__ import annotations

from revelio.cli.engine import open_service
from revelio.cli.output import Json, emit, say
from revelio.support.extras import extras_for

TOOLS = ("list_places", "recommend", "run_query", "give_feedback")


def mcp(json: Json = False) -> None:
    """Serve MCP tools on standard input and output.

    MCP clients start this command.
    With --json, print the client configuration and exit. `revelio serve` offers the same tools at
    /mcp, with API tokens; see `revelio docs assistants`.

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
    say("MCP server on standard input and output; press Ctrl-C to stop")
    try:
        mcp_server(service).run("stdio")
    except KeyboardInterrupt:
        say("stopped")
    finally:
        service.close()
