# The image of boxes for JavaScript: the sandbox's, and node of Debian. Nobody can read the
# executable, so the kernel lets no process of the box look into one that runs it.
FROM ${BASE}
USER 0
RUN apt-get update && apt-get install --yes --no-install-recommends nodejs \
    && rm -rf /var/lib/apt/lists/* && chmod 0711 /usr/bin/node
USER 10001:10001
