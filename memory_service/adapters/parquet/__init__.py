"""Cold storage in Parquet files, in a folder or in any object store that pyarrow knows."""

from memory_service.adapters.parquet.cold_store import ParquetColdStore
from memory_service.adapters.parquet.files import Files, FolderFiles, RemoteFiles, files_of_uri

__all__ = ["Files", "FolderFiles", "ParquetColdStore", "RemoteFiles", "files_of_uri"]
