"""Users, rules, quotas and the audit trail as an operator's tools write and read them."""
