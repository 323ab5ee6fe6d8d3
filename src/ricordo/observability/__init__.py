"""What a running service tells of itself: logs, metrics and, where wanted, traces.

None of it holds anything that somebody said or stored, and none of it names a user. Nothing leaves
the machine unless the operator says where to.
"""
