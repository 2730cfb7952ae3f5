"""What displays show of an arm or a platform, from topics, and what the web view sends to them."""
