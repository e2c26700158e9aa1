"""What turns a report, the evidence and a query into numbers: one input kind a file."""
