"""A rolling packet capture, read by tshark."""
