"""Budgets and prices: upper limits of tokens, money and calls, reserved before each call."""

from greenroom.models.budgets._call_budget import Budget, BudgetExceeded, Limited, Limits, Spent, budgeted
from greenroom.models.budgets._pricing import Pricing

__all__ = ["Budget", "BudgetExceeded", "Limited", "Limits", "Pricing", "Spent", "budgeted"]
