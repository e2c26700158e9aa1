"""``revelio slack``: the bot in socket mode."""

from __future__ import annotations

import threading

from revelio.cli.engine import open_service
from revelio.cli.output import Json, emit, say


def slack(json: Json = False) -> None:
    """Run the Slack bot in socket mode until Ctrl-C.

    No public address is needed; `revelio docs slack` explains the setup. Over HTTP, `revelio serve`
    answers Slack itself.

    \b
    Examples:
      REVELIO_SLACK__APP_TOKEN=xapp-... REVELIO_SLACK__BOT_TOKEN=xoxb-... revelio slack
      revelio slack --json
    """
    from revelio.integrations.deliveries import Deliveries
    from revelio.integrations.slack.bot import Bot
    from revelio.integrations.slack.installations import open_installations
    from revelio.integrations.slack.transport import over_socket

    service = open_service()
    settings = service.settings
    installed = open_installations(settings.slack, service.store.database)
    bot = Bot(settings.slack, service, Deliveries(service.store.database), installed, max_chars=settings.max_report_chars)
    handler = over_socket(bot)
    threading.Thread(target=service.troubles, name="warm-up", daemon=True).start()
    try:
        handler.connect()  # type: ignore[no-untyped-call]
        if json:
            emit({"connected": True, "systems": service.systems})
        else:
            say("The bot is connected to Slack; press Ctrl-C to stop")
        threading.Event().wait()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        handler.close()  # type: ignore[no-untyped-call]
        bot.close()
        service.close()
