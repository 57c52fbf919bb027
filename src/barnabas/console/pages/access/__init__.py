"""Access: users, rules and what they decide, quotas, delegation tokens, the audit trail, what this console changed."""

from barnabas.console.pages.access import quotas, rules, tokens, trail, users
from barnabas.console.web.calls import Route

ROUTES: list[Route] = [*rules.ROUTES, *users.ROUTES, *quotas.ROUTES, *tokens.ROUTES, *trail.ROUTES]
