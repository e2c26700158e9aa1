"""Templates are compiled before the first page is asked for."""

from __future__ import annotations

from webui.views.templating import load_templates, templates


def test_loading_compiles_every_template_once() -> None:
    load_templates()
    environment = templates().env
    assert environment.cache is not None
    kept = {name: template for (_, name), template in environment.cache.items()}
    assert set(kept) == set(environment.list_templates())
    assert environment.get_template("answer.html") is kept["answer.html"]
