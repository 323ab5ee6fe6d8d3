"""Pictures as plain numbers for templates: charts by day, shares of a whole, webs of relations.

Nothing here knows of requests or stores. Texts are passed through as they are; the templates
escape them.
"""
