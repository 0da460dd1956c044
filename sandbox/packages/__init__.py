"""Packages for programs: the one that provides a missing module; ``guarded_pip`` fetches wheels."""

import sys

from sandbox.inside.python2 import MODULES

_DISTRIBUTIONS = {
    "Crypto": "pycryptodome",
    "Cryptodome": "pycryptodomex",
    "Levenshtein": "python-Levenshtein",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "Xlib": "python-xlib",
    "absl": "absl-py",
    "apiclient": "google-api-python-client",
    "attr": "attrs",
    "Bio": "biopython",
    "bs4": "beautifulsoup4",
    "bson": "pymongo",
    "community": "python-louvain",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "discord": "discord.py",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "fitz": "PyMuPDF",
    "gi": "PyGObject",
    "git": "GitPython",
    "github": "PyGithub",
    "gitlab": "python-gitlab",
    "googleapiclient": "google-api-python-client",
    "grpc": "grpcio",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "ldap": "python-ldap",
    "magic": "python-magic",
    "memcache": "python-memcached",
    "mpl_toolkits": "matplotlib",
    "nacl": "PyNaCl",
    "openid": "python3-openid",
    "osgeo": "GDAL",
    "past": "future",
    "pkg_resources": "setuptools",
    "playhouse": "peewee",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "pylab": "matplotlib",
    "pythoncom": "pywin32",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "shapefile": "pyshp",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "snappy": "python-snappy",
    "socks": "PySocks",
    "stdnum": "python-stdnum",
    "telegram": "python-telegram-bot",
    "tlz": "toolz",
    "usb": "pyusb",
    "vtkmodules": "vtk",
    "websocket": "websocket-client",
    "win32api": "pywin32",
    "win32com": "pywin32",
    "wx": "wxPython",
    "xmpp": "xmpppy",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}


def distribution_for(module: str) -> str:
    """Return the distribution to install for an import; ``sklearn.svm`` gives ``scikit-learn``.

    A name that is not in the table is its own distribution, as for most. A module that only Python
    2 had, or that comes with Python itself, has none: "". An index has packages by such names, and
    they are not what the program means. A shared library (``libGL.so.1``) has none either.
    """
    if ".so" in module:
        return ""
    top_level = module.partition(".")[0]
    if top_level in MODULES or top_level in sys.stdlib_module_names:
        return ""
    return _DISTRIBUTIONS.get(top_level, top_level)
