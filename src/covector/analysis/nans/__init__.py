"""Where a NaN or an infinity began."""
