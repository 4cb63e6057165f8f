# batchctl-workloads for jobs without a GPU: the static program and nothing else. It opens
# no connection, asks for no user's name and no time zone, and keeps no temporary files.
# The context is a folder with the program alone, so that no registry is needed:
#
#	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -tags static -o dist/cpu/ ./cmd/batchctl-workloads
#	docker build -f templates/images/cpu.Dockerfile -t batchctl-workloads dist/cpu
#
# "make image" does both.
FROM scratch
LABEL org.opencontainers.image.title="batchctl-workloads" \
      org.opencontainers.image.description="Matrix multiplication and image processing, timed and verified, on the CPU"
COPY batchctl-workloads /
USER 65532:65532
ENTRYPOINT ["/batchctl-workloads"]
