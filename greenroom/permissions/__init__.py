"""Who may do what: modes, rules, the shell reader behind them, `decide(request) -> Verdict`, and what waits for a person."""
