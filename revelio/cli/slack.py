"""``revelio slack``: the bot in socket mode."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from revelio.cli.engine import settings_with
from revelio.cli.output import Json, emit, say

if TYPE_CHECKING:
    from revelio.settings import Settings
    from webui.desk import Desk


def slack(json: Json = False) -> None:
    """Answer in Slack until Ctrl-C, over a socket.

    Nothing has to be reachable from outside. docs/how-to/slack.md sets it up in five minutes. Over HTTP, `revelio serve`
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
    from webui.door import DeskDoor

    settings = settings_with()
    desk = open_desk(settings)
    installed = open_installations(settings.slack, desk.store.database)
    bot = Bot(settings.slack, DeskDoor(desk), Deliveries(desk.store.database), installed, max_chars=settings.max_report_chars)
    handler = over_socket(bot)
    threading.Thread(target=desk.troubles, name="warm-up", daemon=True).start()
    try:
        handler.connect()  # type: ignore[no-untyped-call]
        if json:
            emit({"connected": True, "systems": desk.bench.systems})
        else:
            say("The bot is connected to Slack; Ctrl-C ends it")
        threading.Event().wait()
    except KeyboardInterrupt:
        say("ending")
    finally:
        handler.close()  # type: ignore[no-untyped-call]
        bot.close()
        desk.bench.close()
        desk.store.close()


def open_desk(settings: Settings) -> Desk:
    """What the web server answers with, without the server."""
    from revelio.store import Store
    from revelio.workbench import Workbench
    from webui.desk import Desk
    from webui.figures import Figures

    return Desk(Workbench(settings), Store(settings.database, masked=settings.mask), Figures())
