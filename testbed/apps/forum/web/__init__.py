"""web: the forum's public address, and most of the forum: pages, sign-in, writing, voting, profiles and the inbox."""
