"""Texts to vectors: the shipped model, other local models, and endpoints that speak HTTP."""
