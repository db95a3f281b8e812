"""Rights: what roles, teams and grants allow, and how each request sees no more than that.

``permissions`` names what can be allowed, ``held`` puts together what one account holds, ``roles``, ``teams`` and
``grants`` change it, ``credentials`` prove who asks, ``scoped_views`` keep what is foreign out of sight.
"""
