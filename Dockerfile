# The product alone, without torch and the testbed's needs: `docker build -t revelio .`, or `make image` where no registry can be
# reached. Without a command it runs the demo; `serve` needs accounts, or an address that only this machine reaches.
# The base is pinned by its digest; `--build-arg PYTHON=...` takes another one, such as what `make image` builds from Debian packages.
ARG PYTHON=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7
FROM ${PYTHON} AS build
WORKDIR /src
COPY requirements/build.txt requirements/run.txt requirements/
RUN pip install --no-cache-dir --root-user-action=ignore --require-hashes -r requirements/build.txt \
    && pip install --no-cache-dir --no-compile --root-user-action=ignore --require-hashes --target /packages -r requirements/run.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY docs docs
COPY fault_injection fault_injection
COPY testbed testbed
COPY webui webui
COPY revelio revelio
RUN python -m hatchling build -t wheel -d /wheel \
    && pip install --no-cache-dir --no-compile --root-user-action=ignore --no-deps --target /packages /wheel/*.whl \
    && find /packages -type d \( -name tests -o -name test \) -prune -exec rm -rf {} + \
    # 50 MB that serving never loads: ONNX Runtime's library for C programs and its model tools, and the hub's downloader.
    && cd /packages && rm -rf onnxruntime/capi/libonnxruntime.so* onnxruntime/transformers onnxruntime/tools \
        onnxruntime/quantization onnxruntime/datasets hf_xet* huggingface_hub \
    # The container writes no bytecode: without this, each start would compile all that it imports, for seconds.
    && python -m compileall -q --invalidation-mode unchecked-hash /packages

FROM ${PYTHON}
COPY --from=build /packages /usr/local/lib/revelio
ENV PYTHONPATH=/usr/local/lib/revelio PATH=/usr/local/lib/revelio/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    LANG=C.UTF-8 OMP_NUM_THREADS=1
RUN mkdir /data && chown 65532:65532 /data
# The store, learned versions and temporary files; the only place that is written.
VOLUME /data
WORKDIR /data
ENV TMPDIR=/data REVELIO_DATABASE=sqlite:////data/revelio.db
USER 65532:65532
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s --retries=4 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["python", "-m", "revelio"]
CMD ["demo", "--host", "0.0.0.0"]
