"""The console: a cluster in the browser. A process of its own that speaks to clusters as any client does.

options.py   what the console is started with: clusters, address, people, roles
web/         HTTP: routes and their permissions, sessions' cookies, security headers, server-sent events
people/      who is at the browser: sessions, logins, roles, what was changed by whom
clusters/    connections to clusters as a person, samples every two seconds, the history of the last hour
pages/       what each page of the browser asks for, one module a page
static/      the pages: ES modules as they are written, no build step; vendor/ has what others wrote
"""
