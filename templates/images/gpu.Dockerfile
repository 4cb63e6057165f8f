# batchctl-workloads for jobs with GPUs and for those without: the program, and the C
# library that the NVIDIA driver's libraries need. NVIDIA's container runtime mounts those
# from the host when the container starts.
#
#	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o dist/gpu/ ./cmd/batchctl-workloads
#	docker build -f templates/images/gpu.Dockerfile -t batchctl-workloads:gpu dist/gpu
#
# "make image-gpu" does both. BASE is any image with glibc, so not Alpine with musl.
# If BASE has cuBLAS where CUDA's packages put it, the program multiplies matrices with it,
# otherwise with batchctl's kernels. cuBLAS is 0.4 to 0.7 GB: either with the rest of CUDA,
#
#	--build-arg BASE=docker.io/nvidia/cuda:12.6.3-runtime-ubuntu24.04
#
# which is 2 to 3 GB, or alone, in your own base:
#
#	FROM docker.io/nvidia/cuda:12.6.3-base-ubuntu24.04
#	RUN apt-get update && apt-get install -y --no-install-recommends libcublas-12-6 && rm -rf /var/lib/apt/lists/*
ARG BASE=docker.io/library/debian:bookworm-slim
FROM ${BASE}
LABEL org.opencontainers.image.title="batchctl-workloads" \
      org.opencontainers.image.description="Matrix multiplication and image processing, timed and verified, on the CPU and on NVIDIA GPUs"
# The parts of the driver that the runtime mounts: CUDA, and NVML for gpu-info. AWS Batch
# replaces "all" by the GPUs that the job requests.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
# The context of a release (RELEASE=1) has the program of each platform in its own folder.
ARG TARGETPLATFORM
ARG RELEASE
COPY ${RELEASE:+$TARGETPLATFORM/}batchctl-workloads /
USER 65532:65532
ENTRYPOINT ["/batchctl-workloads"]
