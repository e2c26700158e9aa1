"""A team's own questions as templates of the catalog: alerting rules, dashboards, runbooks, saved searches."""
