"""Inference of boosted trees, stored as arrays as by real libraries."""

from .predict import Booster, predict_proba, predict_raw

__all__ = ["Booster", "predict_proba", "predict_raw"]
