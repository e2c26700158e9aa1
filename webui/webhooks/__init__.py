"""Routes that other systems call: Slack, alerting tools and MCP clients."""
