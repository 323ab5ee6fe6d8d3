"""What every call to a remote endpoint needs, whatever is asked there."""
