"""Languages of texts: what langdetect says, sooner."""

from __future__ import annotations

import langdetect  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
import pytest
from langdetect.detector import Detector  # type: ignore[import-untyped]

from ingest.extract.language import _detector_type, detect_language

_TEXTS = {
    "en": "Each party shall keep confidential whatever it learns of the other party's business.",
    "de": "Der Auftragnehmer verschweigt alle Geschäftsgeheimnisse, die ihm bekannt werden.",
    "fr": "Le prestataire s'engage à ne pas divulguer les informations qui lui sont confiées.",
    "es": "El contratista se compromete a mantener en secreto toda la información recibida.",
    "ro": "Părțile își asumă obligația de confidențialitate și păstrează secretul informațiilor.",
    "vi": "Các bên cam kết giữ bí mật mọi thông tin nhận được trong quá trình thực hiện hợp đồng.",
    "ru": "Стороны обязуются не разглашать сведения, полученные при исполнении этого договора.",
    "el": "Τα μέρη δεσμεύονται να μην αποκαλύψουν τις πληροφορίες που έλαβαν από τη σύμβαση.",
    "ar": "يلتزم الطرفان بالحفاظ على سرية جميع المعلومات التي حصلا عليها أثناء تنفيذ العقد.",
    "ja": "両当事者は、本契約の履行に際して知り得た相手方の秘密情報を第三者に開示してはならない。",
}


@pytest.mark.parametrize("code", _TEXTS)
def test_the_language_is_the_one_that_langdetect_tells(code: str) -> None:
    langdetect.DetectorFactory.seed = 0
    text = _TEXTS[code]
    assert detect_language(text) == langdetect.detect(text).partition("-")[0] == code


@pytest.mark.parametrize("text", [*_TEXTS.values(), "ABC Def GHi jK L iPhone NASA's 12 ÀÉ don’t"])
def test_the_n_grams_are_those_of_langdetect(text: str) -> None:
    detector = _detector_type()()
    detector.text = text
    assert detector._extract_ngrams() == Detector._extract_ngrams(detector)


def test_too_little_text_has_no_language() -> None:
    assert detect_language("Schedule 1 Definitions") is None
    assert detect_language("a1b2c3d4 " * 40) is None
