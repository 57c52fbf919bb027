"""HTTP: routes and their permissions, cookies, security headers, server-sent events."""
