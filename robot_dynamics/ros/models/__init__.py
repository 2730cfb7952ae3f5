"""The models of the machines as nodes get them: descriptions, machine files, live parameters, plants."""
