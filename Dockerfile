# SSR on a machine without a graphics card. Build, then either of the two commands:
#   docker build -t ssr .
#   docker run --rm -v "$PWD/out:/ssr/out" ssr demo
#   docker run --rm -p 8080:8080 ssr play --host 0.0.0.0
FROM python:3.11-slim

# Offscreen OpenGL for pictures and films.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libegl1 libgl1 libgl1-mesa-dri \
    && rm -rf /var/lib/apt/lists/*

# Options of pip for PyTorch alone, e.g. the index of its CPU builds as PyTorch's installation page gives it:
#   docker build --build-arg TORCH_OPTIONS="..." -t ssr .
ARG TORCH_OPTIONS=""
WORKDIR /source
COPY requirements.lock .
RUN pip install --no-cache-dir ${TORCH_OPTIONS} "$(grep '^torch==' requirements.lock)"

COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE NOTICE ./
COPY src src
COPY pretrained pretrained
RUN pip install --no-cache-dir -c requirements.lock ".[viewer]"

WORKDIR /ssr
# Kernels are kept in the image, for processors like the one it was built on; others compile them when they first run.
RUN python -c "from ssr.task.first_time import compile_kernels; compile_kernels()"

# `docker stop` like Ctrl-C: a viewer or a training run ends by itself, the latter with a checkpoint.
STOPSIGNAL SIGINT
ENTRYPOINT ["ssr"]
CMD ["demo"]
