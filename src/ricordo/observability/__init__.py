"""Logs, metrics and optional traces of a running service.

They contain nothing that somebody said or stored, and no user names. Nothing leaves the machine
unless the operator configures where to.
"""
