"""Packs the files below a folder: `pack.py OUT FOLDER EPOCH`, where OUT ends with .tar.gz, .tgz or .whl.

The same files give the same bytes: they are sorted, belong to nobody, and are from the time EPOCH. A wheel gets its RECORD.
"""

import base64
import gzip
import hashlib
import pathlib
import sys
import tarfile
import time
import zipfile


def files(folder):
    """The path within the archive, the mode and the bytes of each file."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
        yield path.relative_to(folder).as_posix(), mode, path


def tar(out, folder, epoch):
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, epoch) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for name, mode, path in files(folder):
                entry = tarfile.TarInfo(name)
                entry.size, entry.mode, entry.mtime = path.stat().st_size, mode, epoch
                with path.open("rb") as data:
                    archive.addfile(entry, data)


def wheel(out, folder, epoch):
    record = ""
    with zipfile.ZipFile(out, "w") as archive:

        def add(name, mode, data):
            entry = zipfile.ZipInfo(name, time.gmtime(epoch)[:6])
            entry.external_attr = (0o100000 | mode) << 16
            entry.create_system = 3  # Unix: otherwise the mode counts for nothing
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)

        for name, mode, path in files(folder):
            data = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record += f"{name},sha256={digest},{len(data)}\n"
            add(name, mode, data)
        (info,) = folder.glob("*.dist-info")
        name = f"{info.name}/RECORD"
        add(name, 0o644, f"{record}{name},,\n".encode())


if __name__ == "__main__":
    pack = wheel if sys.argv[1].endswith(".whl") else tar
    pack(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]))
