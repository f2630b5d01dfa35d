"""The mini world: generated arithmetic problems whose solutions have known decision points.

Every solution is a chain of steps, and every step is written in one of two ways: *direct* (``47+38=85.``) or *worked*
digit by digit (``47+38:7+8=15,4+3+1=8;85.``). The token after the operation, ``=`` or ``:``, decides which, so the
decision points (forks) of a solution are known by construction. A small model errs on direct steps and is reliable on
worked ones, which gives reinforcement learning something to discover.
"""
