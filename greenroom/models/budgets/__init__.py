"""Budgets and prices: upper limits of tokens, money and calls, reserved before each call."""

from greenroom._lazy_names import TYPE_CHECKING, lazy_names

if TYPE_CHECKING:
    from greenroom.models.budgets._call_budget import Budget, BudgetExceeded, Limited, Limits, Spent, budgeted
    from greenroom.models.budgets._pricing import Pricing
else:
    __getattr__, __dir__ = lazy_names(
        globals(),
        {
            "greenroom.models.budgets._call_budget": (
                "Budget",
                "BudgetExceeded",
                "Limited",
                "Limits",
                "Spent",
                "budgeted",
            ),
            "greenroom.models.budgets._pricing": ("Pricing",),
        },
    )

__all__ = ["Budget", "BudgetExceeded", "Limited", "Limits", "Pricing", "Spent", "budgeted"]
