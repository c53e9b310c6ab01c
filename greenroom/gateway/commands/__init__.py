"""Commands of chats: one table, whose plans are carried out by the parts of the gateway."""

__all__: list[str] = []
