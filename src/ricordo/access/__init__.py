"""API keys, and the policy of which agent may read which categories."""
