"""The data sets for evaluation: their files, addresses, checksums and licences."""

from collections.abc import Mapping
from dataclasses import dataclass

from q2_metric.errors import DataError

_RAW = "https://raw.githubusercontent.com"
_Q2 = f"{_RAW}/orhonovich/q-squared/cab6027dc9a50cf73d80caf0858da05c2323c433/third_party/data"
_SCALE = f"{_RAW}/asappresearch/scale-score/ada43738521e51f470fe8bfab6764e3a123f89dd/data/true"
_SCREENEVAL = _SCALE.removesuffix("/true")
_DSTC10 = (f"{_RAW}/alexa/alexa-with-dstc10-track2-dataset/"
           "4882acc6226d8d0826508a240a4a6bd66e651c12/task2/data")
_DSTC9 = (f"{_RAW}/alexa/alexa-with-dstc9-track1-dataset/"
          "7ebb4c767b64826c1ac0f8bae409c0fab9cc0ae4")

_WOW_FILES = {
    "cross_annotation.csv": "b9c92dcf44b93fc8c19fa4a289c6a2780d703b090cf1d341175728778c330446",
    "dodeca_consistent.csv": "f3960661a527f8d481d8bd324bb4b4ed84797eb90e3f91d8d2c0038e5861c4a8",
    "dodeca_inconsistent.csv": "e8c97dcf7db823f69455042b1e27342f0d6db308ced1d491ad11bb5fc4d980c3",
    "memnet_consistent.csv": "2e9b32dbc35d9708eade57205b4a39f0ed3ded3015229e45c1937239b41e1bc2",
    "memnet_inconsistent.csv": "6d80a4a2d513799a580accf463ad89b2968ade3e0b35dc55b1d174511a5a0277",
    "LICENSE.txt": "52412d7bc7ce4157ea628bbaacb8829e0a9cb3c58f57f99176126bc8cf2bfc85",
}
_DSTC10_FILES = {
    "knowledge.json": "fb0facf7acc6831707e49e4dec39518a4c627f233ab6c13ffc5e3f3fab00e4ab",
    "val/logs.json": "d065b457a53d19cf1d8035e5c953df3540382e87d48ddd50380578638d1943a5",
    "val/labels.json": "8ff76887a7aea9ecceb0a59bbb477d6bd360df0d508a6ca75adc1de86a757b49",
}
_DSTC9_FILES = {
    "knowledge.json": "c8490242c23101c4e7c3e3482acd1d6dbf26c788f62c0c87fcaf622ee5360372",
    "train/logs.json": "f5c20a995f1c94bb5a3646b9f6aee0dcc85f5107",
    "train/labels.json": "23edc6fa8a76c4afe606830b175a39807917d828",
    "val/logs.json": "5d7957e4d879eff5311dee65fbe19ba66f8388dc",
    "val/labels.json": "6da9429d56c37ac2b0dc2b97d4bfaeb42df8596f13503719c68a76d6a86ae598",
}
_DSTC9_TEST_FILES = {
    "test/logs.json": "f97385d65638e11606c27e11c4b6778e94d0a6d7",
    "test/labels.json": "7d0d8f49653ebfed5f2d017d6a0c0e53a31026821120358b6cc2675a635b17fc",
}
_TRUE_SETS = {
    "q2": ("1,088 annotated Wizard of Wikipedia responses (those of wow_q2)",
           "ead8c2fca9f322da17778f01acc020cfb9fdac04c7a13cb338cf2253497e627b"),
    "summeval": ("1,600 summaries of CNN/DailyMail articles",
                 "997e799c6e8bea5adf929d6d499bb8a8935b41017d0a7cf72a7a76391070ac7e"),
    "qags_cnndm": ("235 summaries of CNN/DailyMail articles",
                   "766e38fff33a41bf228d5b1af3a7d813a0dea6ec5e851b9662b200d661b32cd3"),
    "dialfact": ("8,689 dialogue responses with Wikipedia evidence",
                 "0045a045da767eba8b4ee86d28d0df8f62a72535b50e57149a4028f28785d29c"),
    "frank": ("671 summaries of CNN/DailyMail and XSum articles",
              "c54e42a706466c2f63d1d46dca87e039382f6153b228d4092fd2dce3755b8823"),
    "mnbm": ("summaries of XSum articles (Maynez et al., 2020)",
             "7c170ee604bde23251cf26033f29a9f795c32d2b"),
    "qags_xsum": ("239 summaries of XSum articles",
                  "10ea432a69f50da4d5515028da121296930465d124ca3628a67786562f869c49"),
    "begin": ("836 responses to Wizard of Wikipedia knowledge",
              "03e8997f7e034b5986b708f3bdb578e529ed61500e64dedc409aa46ac63a77e8"),
    "paws": ("8,000 pairs of sentences: paraphrases or not",
             "431f05bf73c0517fb16158949327d3f5ac7d9a979ed55d8c98d9ac422b47aa1b"),
    "fever": ("claims with Wikipedia evidence (Thorne et al., 2018)",
              "4829e8a075f256f37f6b7cf00709fd79756c5fac"),
    "vitc": ("VitaminC: claims with contrastive Wikipedia evidence (Schuster et al., 2021)",
             "5747164fc38460d003fb91fd6786deb753989de4"),
    "dialfact_a": ("4,473 of the 8,689 rows of true/dialfact, by index; not published",
                   "90c41ab8f41f937d4ece4238b5a3b4bd1dc125357a2288376f60dc484e61e6b6"),
}
"""The description and the digest of each set of TRUE."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """``digest`` is the SHA-256 of the file, or, of 40 digits, its name in Git; "" if it is not
    known. ``url`` is ``None`` if the package cannot download the file."""

    name: str
    digest: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class DataSet:
    """The files are in the subfolder ``folder`` of ``Q2_DATA_DIR`` or of the cache: the group of a
    set ("true/q2"), or its name. ``by_hand`` says where the user finds files that the package
    cannot download."""

    name: str
    description: str
    licence: str
    files: tuple[DataFile, ...]
    by_hand: str = ""

    @property
    def folder(self) -> str:
        return self.name.partition("/")[0]

    @property
    def published(self) -> bool:
        return all(file.url for file in self.files)


def _files(base: str, digests: Mapping[str, str]) -> tuple[DataFile, ...]:
    """The files below an address, by their paths. On this machine, val/logs.json is val_logs.json.
    """
    return tuple(DataFile(path.replace("/", "_"), digest, f"{base}/{path}")
                 for path, digest in digests.items())


def _true(name: str, description: str, digest: str) -> DataSet:
    file = f"{name}.csv"
    url = None if name == "dialfact_a" else f"{_SCALE}/{file}"
    return DataSet(f"true/{name}", description,
                   "repository: MIT; texts under the terms of their sources",
                   (DataFile(file, digest, url),))


_SETS = (
    DataSet("wow_q2",
            "Wizard of Wikipedia responses of dodecaDialogue and MemNet: 544 contexts x 2 "
            "annotated, and 4 x 150 selected", "MIT", _files(_Q2, _WOW_FILES)),
    *(_true(name, *about) for name, about in _TRUE_SETS.items()),
    DataSet("dstc10",
            "DSTC10 track 2, task 2, validation: 263 spoken dialogues, of which 104 need one of "
            "12,039 snippets", "Apache-2.0", _files(_DSTC10, _DSTC10_FILES)),
    DataSet("wow", "Wizard of Wikipedia: the 981 dialogues from which wow_q2 is", "CC BY 4.0",
            (DataFile("valid_random_split.json", ""),),
            by_hand="unpack it from the archive wizard_of_wikipedia.tgz of ParlAI"),
    DataSet("screeneval", "ScreenEval: 624 sentences about 52 TV scripts",
            "repository: MIT; texts under the terms of SummScreen",
            _files(_SCREENEVAL, {"screen_eval.json": "7eb7b02529a7a15166be1a47b154fe91b8eb9c37"})),
    DataSet("usr", "Topical-Chat responses rated by people (USR): 60 contexts x 6", "not stated",
            (DataFile("tc_usr_data.json", ""),),
            by_hand="download it from https://shikib.com/tc_usr_data.json"),
    DataSet("dnli", "Dialogue NLI: pairs of sentences; the test set whose labels people verified",
            "as stated on https://wellecks.com/dialogue_nli",
            (DataFile("dialogue_nli_verified_test.jsonl", ""),),
            by_hand="unpack it from the archive dnli.zip that https://wellecks.com/dialogue_nli "
            "links to"),
    DataSet("dstc9", "DSTC9 track 1: 86,362 turns of dialogues, and 2,900 (test: 12,039) snippets",
            "Apache-2.0",
            (*_files(f"{_DSTC9}/data", _DSTC9_FILES),
             DataFile("test_knowledge.json", _DSTC10_FILES["knowledge.json"],
                      f"{_DSTC9}/data_eval/knowledge.json"),
             *_files(f"{_DSTC9}/data_eval", _DSTC9_TEST_FILES))),
)

CATALOGUE: Mapping[str, DataSet] = {item.name: item for item in _SETS}


def select(name: str) -> list[DataSet]:
    """The data set with this name ("true/q2"), or all of a group ("true"). DataError: there is no
    such set or group; the message lists the names."""
    chosen = [item for item in _SETS if name in (item.name, item.folder)]
    if not chosen:
        raise DataError(f"there is no data set {name!r}; the sets are {', '.join(CATALOGUE)}")
    return chosen
