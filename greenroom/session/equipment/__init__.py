"""Equipment of agents: rules, hooks, tools, prompts, skills."""

__all__: list[str] = []
