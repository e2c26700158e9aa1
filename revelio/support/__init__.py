"""What any program needs: bounded files, deadlines, progress, numbers, time series, telemetry."""
