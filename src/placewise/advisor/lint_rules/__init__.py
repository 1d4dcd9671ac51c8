"""Further rules of the lint, and what mending each remark would save."""

from placewise.advisor.lint_rules.whole import lint_launch

__all__ = ["lint_launch"]
