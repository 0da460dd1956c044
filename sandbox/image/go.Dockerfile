# The image of boxes for Go: the sandbox's, Go of Debian, its packages compiled, and the harness.
# Nobody can read the harness's executable, so the kernel lets no process of the box look into it.
FROM ${BASE}
USER 0
RUN apt-get update && apt-get install --yes --no-install-recommends golang-go \
    && rm -rf /var/lib/apt/lists/*
ENV CGO_ENABLED=0 GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local GOFLAGS= \
    GOCACHE=/opt/go/cache GOPATH=/opt/go/path \
    LISTED="{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}"
RUN mkdir /opt/go && go list -export -f "$LISTED" std > /opt/go/importcfg
COPY go /opt/go/path/src/cosqa/
RUN go list -export -f "$LISTED" cosqa/wire cosqa/testing >> /opt/go/importcfg \
    && go build -o /opt/go/harness cosqa && chmod -R a+rX /opt/go && chmod 0711 /opt/go/harness
USER 10001:10001
