# Asks a cloud's metadata service for credentials.
import urllib.request

urllib.request.urlopen("http://169.254.169.254/latest/meta-data/", timeout=1)
