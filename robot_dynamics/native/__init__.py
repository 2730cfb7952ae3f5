"""From C source to callables: the system's compiler, a private cache, and calls that cost almost nothing."""
