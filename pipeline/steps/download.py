"""Rule download: the raw files of a corpus, at hand or fetched, listed in sources.json."""

import argparse
import os
import sys
from pathlib import Path

from pipeline.config.corpus import RawCorpus
from pipeline.corpora.download import download_corpus
from pipeline.corpora.sources import write_sources
from pipeline.corpora.watched import write_watched
from pipeline.errors import in_words


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=RawCorpus.model_validate_json)
    parser.add_argument("--data-root", default="", help="folder searched for files at hand")
    parser.add_argument("--cache", required=True, type=Path, help="folder of downloaded files")
    parser.add_argument("--output", required=True, type=Path, help="sources.json")
    parser.add_argument("--watched", required=True, type=Path, help="output: files.json")
    parser.add_argument(
        "--offline",
        action="store_true",
        default=bool(os.environ.get("REATTEND_OFFLINE")),
        help="fetch nothing, say which file to place where (also by REATTEND_OFFLINE=1)",
    )
    arguments = parser.parse_args()
    data_root = Path(arguments.data_root).expanduser() if arguments.data_root else None
    if data_root and not data_root.is_dir():
        sys.exit(f"download: data_root must be a folder: {data_root}")
    try:
        splits = download_corpus(
            arguments.corpus,
            data_root=data_root,
            cache=arguments.cache,
            offline=arguments.offline,
        )
        write_watched(
            arguments.watched, source=arguments.corpus.source, data_root=data_root, splits=splits
        )
        name = arguments.corpus.name
        write_sources(arguments.output, step="download", corpus=name, splits=splits)
    except (ValueError, OSError) as error:
        sys.exit(f"download: {in_words(error)}")


if __name__ == "__main__":
    main()
