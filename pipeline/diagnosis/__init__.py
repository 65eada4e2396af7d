"""What a machine has and lacks for this project, as `python -m pipeline doctor` says it.

Modules here, and the command, start under any Python from 3.8 on and without any package: each
check imports what it looks at, and says what can't be imported.
"""
