"""Laws of the reader of pickles: plain values come back, and nothing else does anything."""

import inspect
import os
import pickle
import pickletools
import struct
import tracemalloc
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.errors import SourceError
from tasks.inputs import pickles
from tasks.inputs.pickles import pickled_items, pickled_pairs

PLAIN = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False)
    | st.text(max_size=100) | st.binary(max_size=100)
)  # fmt: skip
HASHABLE = PLAIN | st.tuples(PLAIN, PLAIN) | st.frozensets(PLAIN, max_size=3)
VALUES = st.recursive(
    HASHABLE | st.sets(PLAIN, max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=3)
        | st.lists(inner, max_size=4).map(tuple)
    ),
    max_leaves=12,
)


def copies(value: Any) -> Any:
    """Return a value whose containers are all objects of their own."""
    if isinstance(value, dict):
        return {copies(key): copies(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)([copies(item) for item in value])
    return value


def items_of(folder: Path, content: bytes) -> list[Any]:
    file = folder / "made.pkl"
    file.write_bytes(content)
    return list(pickled_items(file))


@settings(deadline=None)
@given(values=st.lists(VALUES, max_size=4), protocol=st.sampled_from([4, 5]))
def test_plain_values_come_back(
    values: list[Any], protocol: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Copies: a pickle refers to an object that it has written, and containers are refused then.
    written = copies(values)
    read = items_of(tmp_path_factory.getbasetemp(), pickle.dumps(written, protocol))
    assert read == values
    assert [type(value) for value in read] == [type(value) for value in values]


@pytest.mark.parametrize("protocol", range(6))
def test_a_table_of_texts_comes_back_from_every_protocol(tmp_path: Path, protocol: int) -> None:
    shared, long = "owner/name", "größe\n" * 500
    rows = [
        {"nwo": shared, "function": f"def f{n}(): \\ '\"", "tokens": ["def", "("], "n": n - 70}
        for n in range(2_500)
    ]
    rows += [{"a": long, "x": 1.5, "t": (True, None, -1)}, {"a": long, "t": ()}]
    assert items_of(tmp_path, pickle.dumps(rows, protocol)) == rows
    pairs = {(4_711, index): text for index, text in enumerate((shared, long, long, "x"))}
    (tmp_path / "pairs.pkl").write_bytes(pickle.dumps(pairs, protocol))
    assert dict(pickled_pairs(tmp_path / "pairs.pkl")) == pairs


PYTHON_2 = {
    0: b"(dp1\n(I12\nI0\ntp2\nS'x = \\'\\xc3\\xa4\\'\\n'\np3\ns(I12\nL1L\ntp4\nVcaf\\u00e9\np5\ns.",
    2: b"\x80\x02}q\x01(K\x0cK\x00\x86q\x02U\x09x = '\xc3\xa4'\nq\x03K\x0c\x8a\x01\x01\x86q\x04"
    b"X\x05\x00\x00\x00caf\xc3\xa9q\x05u.",
}


@pytest.mark.parametrize("protocol", PYTHON_2)
def test_strings_of_python_2_are_text(tmp_path: Path, protocol: int) -> None:
    (tmp_path / "two.pkl").write_bytes(PYTHON_2[protocol])
    pairs = dict(pickled_pairs(tmp_path / "two.pkl"))
    assert pairs == {(12, 0): "x = 'ä'\n", (12, 1): "café"}


class _Runs:
    """What pickles to a call."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self._call = function, arguments

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        return self._call


class _HasState:
    """What pickles to an object with a state."""

    def __init__(self) -> None:
        self.value = 1


def hostile(canary: Path) -> dict[str, bytes]:
    """Return pickles that would write a file if anything of them were run."""
    command = f"touch {canary}".encode()
    called = {
        f"{opcode} in protocol {protocol}": pickle.dumps(
            [_Runs(os.system, command.decode())], protocol
        )
        for protocol, opcode in enumerate(
            ("GLOBAL", "GLOBAL", "GLOBAL", "GLOBAL", "STACK_GLOBAL", "STACK_GLOBAL")
        )
    }
    return called | {
        "INST": b"(l(S'" + command + b"'\nios\nsystem\na.",
        "OBJ": b"(l(cos\nsystem\nS'" + command + b"'\noa.",
        "NEWOBJ": b"\x80\x02](cos\nsystem\nU\x01x\x85\x81e.",
        "NEWOBJ_EX": b"\x80\x04](\x8c\x02os\x8c\x06system\x93)}\x92e.",
        "BUILD": pickle.dumps([_HasState()], 0),
        "BUILD of a dictionary": b"\x80\x02]}U\x01a}be.",
        "REDUCE": b"\x80\x02](U\x01aU\x01b\x85Re.",
        "EXT1": b"\x80\x02](\x82\x01e.",
        "EXT2": b"\x80\x02](\x83\x01\x00e.",
        "EXT4": b"\x80\x02](\x84\x01\x00\x00\x00e.",
        "PERSID": b"(lPsomewhere\na.",
        "BINPERSID": b"\x80\x02](U\x01xQe.",
        "BYTEARRAY8": pickle.dumps([bytearray(b"x")], 5),
        "NEXT_BUFFER": b"\x80\x05](\x97e.",
        "DUP": b"\x80\x02](U\x01a2e.",
        "POP": b"\x80\x02](U\x01a0e.",
        "POP_MARK": b"\x80\x02](U\x01a1e.",
        "an opcode that there is not": b"\x80\x02](\xfee.",
    }


NAMES = list(hostile(Path("canary")))


def test_a_hostile_pickle_is_refused_at_its_byte_and_nothing_runs(tmp_path: Path) -> None:
    for name in NAMES:
        canary = tmp_path / "canary"
        content = hostile(canary)[name]
        with pytest.raises(SourceError, match=r"made.pkl: byte [\d,]+: opcode \w+ is refused"):
            items_of(tmp_path, content)
        assert not canary.exists(), name


def test_every_opcode_makes_a_plain_value_or_is_refused(tmp_path: Path) -> None:
    for opcode in pickletools.opcodes:
        with pytest.raises(SourceError) as error:
            items_of(tmp_path, b"\x80\x02](" + opcode.code.encode("latin-1"))
        assert ("is refused" in str(error.value)) == (opcode.name not in {*pickles._PLAIN, "STOP"})


def test_no_opcode_that_is_read_imports_or_calls() -> None:
    text = "".join(inspect.getsource(action) for action in pickles._Reader.dispatch.values())
    for name in ("find_class", "_instantiate", "get_extension", "persistent_load", "__new__"):
        assert name not in text
    assert "func(" not in text
    assert "setstate" not in text


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
LAUGHS: list[Any] = ["ha"]
for _ in range(40):
    LAUGHS = [LAUGHS, LAUGHS]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cut short"),
        (pickle.dumps(["abc"] * 3)[:-1], "cut short"),
        (pickle.dumps(["abc" * 100])[:40], "cut short"),
        (b"\x80\x02](X\xff", "cut short"),
        (b"(lVabc", "cut short or has too long a line"),
        (b"(lI12", "cut short or has too long a line"),
        (pickle.dumps([1]) + b"x", "bytes follow"),
        (pickle.dumps({"a": 1}), "this is a dict, no list"),
        (pickle.dumps(["a"]).replace(b"\x94", b"\x94\x94", 1) + b".", "bytes follow"),
        (b"\x80\x09].", "unsupported pickle protocol: 9"),
        (pickle.dumps([CYCLE]), "container is referred to again"),
        (pickle.dumps(LAUGHS), "container is referred to again"),
        (b"\x80\x02](h\x07e.", "container is referred to again, or what is nowhere"),
        (b"\x80\x02](" + b"K\x01" + b"\x85" * 100 + b"e.", "nested more than 50 deep"),
        (b"\x80\x02" + b"](" * 100 + b"e" * 100 + b".", "nested more than 50 deep"),
        (b"\x80\x02](\x8b" + struct.pack("<I", 1_000) + b"\x01" * 1_000 + b"e.", "too many digits"),
        (b"\x80\x02](X" + struct.pack("<I", 2**31) + b"abc", "over 134,217,728 bytes"),
        (b"\x80\x04](\x8d" + struct.pack("<Q", 2**62) + b"abc", "over 134,217,728 bytes"),
        (b"\x80\x04](\x8e" + struct.pack("<Q", 2**40) + b"abc", "over 134,217,728 bytes"),
        (b"\x80\x02](\x8b" + struct.pack("<i", 2**31 - 1) + b"abc", "over 134,217,728 bytes"),
        (b"\x80\x02](\x8b" + struct.pack("<i", -1) + b"abc", "negative byte count"),
        (b"\x80\x02](T" + struct.pack("<i", 2**31 - 1) + b"abc", "over 134,217,728 bytes"),
        (b"\x80\x04\x95" + struct.pack("<Q", 2**62) + b"](K\x01Xe.", "cut short"),
        (b"\x80\x02](K\x01" + b"\x85" * 100_000 + b"}K\x01K\x02sue.", "nested more than 50"),
        (b"(lL" + b"9" * 5_000 + b"L\na.", "Exceeds the limit"),
        (b"(lL" + b"9" * 4_000 + b"L\na.", "too many digits"),
        (b"(lp99999999999999999999\n.", "^$"),
        (b"\x80\x02](]}se.", "damaged"),
        (b"\x80\x02](}(]K\x01ue.", "damaged: unhashable"),
        (b"\x80\x02](r" + struct.pack("<I", 2**32 - 1) + b"e.", "damaged"),
        (b"\x80\x02}(K\x01u.", "damaged"),
        (b"\x80\x02](K\x01a.", "damaged"),
        (b"\x80\x02e.", "damaged"),
        (b"\x80\x02](K\x01.", "damaged: values are left over"),
        (b"(lS'a\na.", "damaged: the STRING opcode argument must be quoted"),
        (b"(lV\\ud800\na.", "^$"),
    ],
)  # fmt: skip
def test_what_is_damaged_or_endless_is_refused_with_its_byte(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    if problem == "^$":
        assert items_of(tmp_path, content) in ([], ["?"])
        return
    with pytest.raises(SourceError, match=rf"made.pkl: byte [\d,]+: .*{problem}"):
        items_of(tmp_path, content)


def test_items_come_before_the_file_has_been_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "long.pkl").write_bytes(pickle.dumps([str(n) for n in range(5_000)]))
    first = next(pickled_items(tmp_path / "long.pkl"))
    assert first == "0"


def test_too_many_values_at_once_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "_MOST_OPCODES", 5_000)
    assert len(items_of(tmp_path, pickle.dumps(list(range(20_000))))) == 20_000
    with pytest.raises(SourceError, match="an item is too large"):
        items_of(tmp_path, b"\x80\x02](" + b"]" * 10_000 + b"e.")


LONG = b"X" + struct.pack("<I", 1_000) + b"a" * 1_000


def test_a_text_that_is_referred_to_again_is_one_text_in_memory(tmp_path: Path) -> None:
    found = items_of(tmp_path, b"\x80\x02](" + LONG + b"q\x01" + b"h\x01" * 1_000 + b"e.")
    assert found == ["a" * 1_000] * 1_001
    assert len({id(text) for text in found}) == 1


def test_a_text_is_kept_until_its_last_use_and_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "_MOST_KEPT_TEXT", 1_500)
    same = LONG + b"q\x01ah\x01a"
    assert items_of(tmp_path, b"\x80\x02]" + same * 50 + b".") == ["a" * 1_000] * 100
    each = b"".join(LONG + b"q%ca" % number + b"h%ca" % number for number in range(50))
    assert items_of(tmp_path, b"\x80\x02]" + each + b".") == ["a" * 1_000] * 100
    both = LONG + b"q\x01a" + LONG + b"q\x02ah\x01ah\x02a"
    with pytest.raises(SourceError, match="too much text is referred to again"):
        items_of(tmp_path, b"\x80\x02]" + both + b".")
    unused = LONG + b"q\x01a" + LONG + b"q\x02a"
    assert len(items_of(tmp_path, b"\x80\x02]" + unused + b".")) == 2


def test_too_many_references_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles, "_MOST_USED_AGAIN", 2)
    again = b"".join(b"K" + number + b"q" + number + b"h" + number for number in (b"1", b"2", b"3"))
    with pytest.raises(SourceError, match="more than 2 values are referred to again"):
        items_of(tmp_path, b"\x80\x02](" + again + b"e.")


def test_bytes_are_counted_by_item_and_not_by_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "_MOST_BYTES", 5_000)
    one_by_one = b"\x80\x02]" + (LONG + b"a") * 100 + b"."
    assert items_of(tmp_path, one_by_one) == ["a" * 1_000] * 100
    with pytest.raises(SourceError, match="an item of over 5,000 bytes"):
        items_of(tmp_path, b"\x80\x02](" + LONG * 6 + b"e.")


@settings(deadline=None)
@given(data=st.data())
def test_a_spoilt_pickle_is_refused_or_read_but_never_an_accident(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [{"nwo": "a/b", "tokens": ["x"] * 3, "t": (1, 2.5)}, {"nwo": "a/b", "s": {1}}]
    content = bytearray(pickle.dumps(rows, data.draw(st.sampled_from([0, 2, 4]))))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(SourceError):
        items_of(tmp_path_factory.getbasetemp(), bytes(content))


class ClassLess(pickle.Unpickler):
    """The reader in C, which finds no class."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"{module}.{name}")


def peak_of(read: Callable[[], object]) -> int:
    """Return the bytes that a call has held at most."""
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_reader_in_c_holds_a_file_whole_and_takes_a_small_one_that_stands_for_a_large_tree(
    tmp_path: Path,
) -> None:
    """Why pickles of plain values are read by Python's own reader."""
    large, small = tmp_path / "large.pkl", tmp_path / "small.pkl"
    large.write_bytes(pickle.dumps([f"{n:0500}" for n in range(20_000)]))

    def in_c(file: Path) -> Any:
        with file.open("rb") as stream:
            return ClassLess(stream).load()

    ours = peak_of(lambda: deque(pickled_items(large), 0))
    assert peak_of(lambda: in_c(large)) > 3 * ours
    leaf: list[Any] = ["leaf"]
    for _ in range(40):
        leaf = [leaf, leaf]
    small.write_bytes(pickle.dumps(leaf))
    assert small.stat().st_size < 1_000
    found = in_c(small)
    assert found[0] is found[1], "2 to the 40th leaves"
    with pytest.raises(SourceError):
        list(pickled_items(small))
