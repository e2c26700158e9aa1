"""Who may do what: signing in, the rules, and the pages and addresses with which people look after accounts."""
