"""What the web view shows of an arm or a platform, from topics, and what it sends to them."""
