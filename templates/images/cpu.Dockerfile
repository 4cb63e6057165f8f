# batchctl-workloads for jobs without a GPU: only the static program. It opens no
# connections, needs no user names or time zones, and keeps no temporary files. The context
# is a folder with only the program, so no registry is needed:
#
#	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -tags static -o dist/cpu/ ./cmd/batchctl-workloads
#	docker build -f templates/images/cpu.Dockerfile -t batchctl-workloads dist/cpu
#
# "make image" does both.
FROM scratch
LABEL org.opencontainers.image.title="batchctl-workloads" \
      org.opencontainers.image.description="Matrix multiplication and image processing, timed and verified, on the CPU"
# The context of a release (RELEASE=1) has the program of each platform in its own folder.
ARG TARGETPLATFORM
ARG RELEASE
COPY ${RELEASE:+$TARGETPLATFORM/}batchctl-workloads /
USER 65532:65532
ENTRYPOINT ["/batchctl-workloads"]
