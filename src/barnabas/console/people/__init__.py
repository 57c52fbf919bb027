"""Who is at the browser: sessions, logins, roles, and the record of what was changed by whom."""
