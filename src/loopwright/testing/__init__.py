"""What tests of agent graphs need: a scripted chat model, a clock, `assert_bounded`.

Public, for the tests of users too; see ``docs/testing.md``. Nothing here reaches a network. Names are imported when
they are first used, so that the pytest plug-in costs nothing where it is not used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
