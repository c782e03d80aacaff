"""Regression trees, grown greedily."""

from .tree import DecisionTreeRegressor, fit_predict

__all__ = ["DecisionTreeRegressor", "fit_predict"]
