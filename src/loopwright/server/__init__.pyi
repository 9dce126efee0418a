from .app import create_app as create_app
from .serving import Serving as Serving, serve as serve
from .settings import ServerSettings as ServerSettings
