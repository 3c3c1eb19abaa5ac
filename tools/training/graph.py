"""Writes the bundled networks as ONNX graphs without weights.

The weights are in a safetensors file, and are given to ONNX Runtime when a session starts
(:mod:`q2_metric.models.bundled.stored`). So torch and ONNX Runtime use the same file, and users do
not need the package ``onnx``. For each network there is also a graph whose layers compute in 8 bits
(:mod:`tools.training.eight_bits`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from onnx import TensorProto, helper

from q2_metric.models.bundled.encoding import MULTIPLE
from q2_metric.models.bundled.network import POSITIONS, VOCABULARY, Shape, distance_classes
from q2_metric.models.bundled.stored import file_of
from q2_metric.text.alignment import N_TYPES
from tools.training.ranges import apart_of

FUSED = "com.microsoft"
"""The ONNX domain of operators that exist only in ONNX Runtime: attention, GELU, 8-bit products."""


class _Graph:
    """An ONNX graph that is being built. Methods add operators, and return the names of their
    outputs. The names of the weights begin with ``prefix``."""

    def __init__(self, prefix: str, shape: Shape, eight_bits: bool = False) -> None:
        self.prefix = prefix
        self.shape = shape
        self.eight_bits = eight_bits
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.count = 0

    def weight(self, name: str, shape: list[int], kind: int = TensorProto.FLOAT) -> str:
        """Declares a weight of this shape, whose value is given when a session starts. Returns its
        name."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=file_of(self.prefix))
        self.initializers.append(tensor)
        return name

    def constant(self, name: str, kind: int, shape: list[int], values: list[Any]) -> str:
        self.initializers.append(helper.make_tensor(name, kind, shape, values))
        return name

    def once(self, name: str, kind: int, shape: list[int], values: list[Any]) -> str:
        """Adds a constant unless there is already one with this name. Returns its name."""
        if all(tensor.name != name for tensor in self.initializers):
            self.constant(name, kind, shape, values)
        return name

    def index(self, number: int) -> str:
        """A constant for a position, axis or count, as the list of one int64 that operators need.
        """
        return self.once(f"index{number}", TensorProto.INT64, [1], [number])

    def add(self, op: str, inputs: list[str], domain: str = "", outputs: int = 1,
            **attributes: Any) -> Any:
        names = [f"{op.lower()}_{self.count}_{i}" for i in range(outputs)]
        self.count += 1
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x: str, name: str, size: list[int], parts: int = 1) -> list[str]:
        """Adds x @ weight + bias. The weight is converted from its stored 8 bits to floats. Each
        of the equal ``parts`` of the output has its own product: splitting an output is slower."""
        weight = self.add("DequantizeLinear", [
            self.weight(f"{name}.weight", size, TensorProto.INT8),
            self.weight(f"{name}.weight.scale", [size[1]])], axis=1)
        bias = self.weight(f"{name}.bias", [size[1]])
        return [self.add("Add", [self.add("MatMul", [x, part]), added])
                for part, added in zip(self.cut(weight, parts), self.cut(bias, parts), strict=True)]

    def cut(self, value: str, parts: int) -> list[str]:
        """Splits a weight into equal parts by columns. A session does so once, when it starts."""
        return [value] if parts == 1 else self.add(
            "Split", [value], outputs=parts, axis=-1, num_outputs=parts)

    def layer_linear(self, x: str, name: str, size: list[int], parts: int = 1) -> list[str]:
        """Adds the linear map of a layer (:mod:`q2_metric.models.bundled.stored`). In a graph for 8
        bits, its products are computed in 8 bits."""
        scaled = self.add("Mul", [x, self.weight(f"{name}.multiplier", [size[0]])])
        if not self.eight_bits:
            products = self.linear(scaled, name, size, parts)
        else:
            step = self.once("step", TensorProto.FLOAT, [], [1.0])
            zero = self.weight(f"{name}.zero", [], TensorProto.UINT8)
            rounded = self.add("QuantizeLinear", [scaled, step, zero])
            columns = [self.cut(value, parts) for value in (
                self.weight(f"{name}.weight", size, TensorProto.INT8),
                self.weight(f"{name}.weight.scale", [size[1]]),
                self.weight(f"{name}.bias", [size[1]]))]
            products = [
                self.add("MatMulIntegerToFloat", [rounded, weight, step, scale, zero, "", bias],
                         FUSED)
                for weight, scale, bias in zip(*columns, strict=True)]
        apart = apart_of(name)
        if not apart:
            return products
        channels = self.add("Gather", [
            x, self.weight(f"{name}.apart", [apart], TensorProto.INT64)], axis=-1)
        beside = self.add("MatMul", [
            channels, self.weight(f"{name}.apart.weight", [apart, size[1]])])
        return [self.add("Add", [*products, beside])]

    def table(self, name: str, rows: int, width: int) -> str:
        """A table of vectors in floats."""
        return str(self.add("DequantizeLinear", [
            self.weight(name, [rows, width], TensorProto.INT8),
            self.weight(f"{name}.scale", [rows])], axis=0))

    def norm(self, x: str, name: str) -> str:
        # On a CPU, SkipLayerNormalization takes more than twice as long as Add and
        # LayerNormalization.
        return str(self.add("LayerNormalization", [
            x, self.weight(f"{name}.weight", [self.shape.hidden]),
            self.weight(f"{name}.bias", [self.shape.hidden])], epsilon=self.shape.eps, axis=-1))

    def encoder(self, wanted: str = "") -> str:
        """Adds the encoder. Returns its states at the first ``wanted`` positions; "" for all.

        The inputs of the graph are ids and types (batch, length) int64, and mask (batch, length)
        int32. If the lower layers read query and text apart (:func:`below`), it has their
        ``states`` (batch, length, hidden) instead of ids.
        """
        shape, away = self.shape, []
        if shape.apart:
            x = self.add("Add", ["states", self.types("join")])
        else:
            length = self.add("Shape", ["ids"], start=1, end=2)
            x = self.embedded(self.first(self.positions(), length, 0))
            away = [self.away(length)] if shape.distances else []
        for i in range(shape.apart, shape.layers):
            last = i == shape.layers - 1
            x = self.layer(f"{self.prefix}.layers.{i}", x, away, wanted if last else "")
        return str(x)

    def positions(self) -> str:
        return self.table(f"{self.prefix}.positions.weight", POSITIONS, self.shape.hidden)

    def types(self, table: str) -> str:
        """Adds a look-up of the tokens' types in a table."""
        return str(self.add("Gather", [
            self.table(f"{self.prefix}.{table}.weight", N_TYPES, self.shape.hidden), "types"]))

    def embedded(self, places: str) -> str:
        """Adds the vectors of words, ``places`` and types."""
        hidden = self.shape.hidden
        words = self.add("Cast", [self.add("Gather", [
            self.weight("words.weight", [VOCABULARY, hidden], TensorProto.INT8), "ids"],
        )], to=TensorProto.FLOAT)
        words = self.add("Mul", [words, self.add("Unsqueeze", [self.add("Gather", [
            self.weight("words.weight.scale", [VOCABULARY]), "ids"]), self.index(-1)])])
        # Rounded to 16 bits, as all figures were measured.
        for kind in (TensorProto.FLOAT16, TensorProto.FLOAT):
            words = self.add("Cast", [words], to=kind)
        x = self.add("Add", [self.add("Add", [words, self.types("types")]), places])
        return self.norm(x, f"{self.prefix}.norm")

    def layer(self, name: str, x: str, away: list[str], wanted: str) -> str:
        """Adds a transformer layer.

        Args:
            name: name of the layer, with which the names of its weights begin.
            x: the states that the layer reads.
            away: a tensor that is added to the attention scores and depends on the distances
                between tokens; empty if there is none.
            wanted: the states of this many first positions are computed; "" for all.
        """
        hidden, wide = self.shape.hidden, self.shape.feed_forward
        q, k, v = self.layer_linear(x, f"{name}.qkv", [hidden, 3 * hidden], parts=3)
        if wanted:
            q, x = self.first(q, wanted, 1), self.first(x, wanted, 1)
            away = [self.first(added, wanted, 2) for added in away]
        context = self.add("MultiHeadAttention", [q, k, v, "", "mask", *away], FUSED,
                           num_heads=self.shape.heads)
        (attended,) = self.layer_linear(context, f"{name}.out", [hidden, hidden])
        x = self.norm(self.add("Add", [attended, x]), f"{name}.norm1")
        up = self.add("Gelu", self.layer_linear(x, f"{name}.up", [hidden, wide]), FUSED)
        (down,) = self.layer_linear(up, f"{name}.down", [wide, hidden])
        return self.norm(self.add("Add", [down, x]), f"{name}.norm2")

    def first(self, x: str, count: str, axis: int) -> str:
        """Adds a slice: the first ``count`` entries of a tensor along an axis."""
        return str(self.add("Slice", [x, self.index(0), count, self.index(axis)]))

    def up_to(self, mask: str) -> str:
        """Adds the length of the shortest prefix that contains all marked positions of a mask
        (batch, length).

        The length is rounded up to a multiple of the padding step. So sums over the prefix have the
        same bits whatever the lengths of the other hypotheses in the batch.
        """
        ends = self.constant("ends", TensorProto.FLOAT, [POSITIONS], [
            float(1 + place // MULTIPLE) for place in range(POSITIONS)])
        length = self.add("Shape", [mask], start=1, end=2)
        marked = self.add("Mul", [mask, self.first(ends, length, 0)])
        steps = self.add("Max", [
            self.add("ReduceMax", [marked], keepdims=0),
            self.constant("least", TensorProto.FLOAT, [], [1.0])])
        count = self.add("Mul", [
            self.add("Cast", [steps], to=TensorProto.INT64),
            self.index(MULTIPLE)])
        return str(count)

    def away(self, length: str) -> str:
        """Adds the tensor (1, heads, length, length) that is added to the attention scores. Its
        values depend on the distances between tokens."""
        square = distance_classes(torch.arange(POSITIONS), self.shape.distances)
        classes = [*square[1:, 0].flip(0).tolist(), *square[0].tolist()]
        whole, start, one = (self.constant(name, TensorProto.INT64, [], [value]) for name, value in
                             (("middle", POSITIONS - 1), ("start", 0), ("step1", 1)))
        places = self.add("Range", [start, self.add("Squeeze", [length]), one])
        rows = self.add("Unsqueeze", [
            places, self.index(1)])
        distances = self.add("Add", [self.add("Sub", [places, rows]), whole])
        found = self.add("Gather", [
            self.constant("classes", TensorProto.INT64, [len(classes)], classes), distances])
        added = self.add("Gather", [self.table(
            f"{self.prefix}.distances.weight", self.shape.distances, self.shape.heads), found])
        heads_first = self.add("Transpose", [added], perm=[2, 0, 1])
        return str(self.add("Unsqueeze", [heads_first, self.index(0)]))

    def model(self, output: str, shape: list[Any], inputs: Sequence[str]) -> bytes:
        """The finished graph, with these inputs beside types and mask."""
        kinds = {"query": TensorProto.FLOAT, "states": TensorProto.FLOAT, "mask": TensorProto.INT32}
        # Other names of the same length keep ONNX Runtime from fusing Add and LayerNormalization.
        sizes = {"places": ["places"], "states": ["batch", "places", self.shape.hidden]}
        given = [helper.make_tensor_value_info(
            name, kinds.get(name, TensorProto.INT64), sizes.get(name, ["batch", "length"]))
            for name in (*inputs, "types", "mask")]
        self.nodes[-1].output[0] = output
        graph = helper.make_graph(
            self.nodes, self.prefix, given,
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            self.initializers)
        model = helper.make_model(graph, opset_imports=[
            helper.make_opsetid("", 18), helper.make_opsetid(FUSED, 1)], ir_version=9)
        return bytes(model.SerializeToString())


def graph_of(network: str, shape: Shape, eight_bits: bool = False) -> bytes:
    """The ONNX graph of a network, in serialised form.

    Args:
        network: name of the network, such as "reader".
        shape: its shape.
        eight_bits: whether the layers compute in 8 bits.
    """
    return (_reader if network == "reader" else _entailment)(_Graph(network, shape, eight_bits))


def below(prefix: str, shape: Shape, eight_bits: bool = False) -> bytes:
    """The graph of the layers that read query and text apart: from ids and types (batch,
    length) and ``places`` (length,) to ``states`` (batch, length, hidden)."""
    graph = _Graph(prefix, shape, eight_bits)
    x = graph.embedded(graph.add("Gather", [graph.positions(), "places"]))
    for i in range(shape.apart):
        x = graph.layer(f"{prefix}.layers.{i}", x, [], "")
    return graph.model("states", ["batch", "length", shape.hidden], ["ids", "places"])


def _reader(graph: _Graph) -> bytes:
    """The reader's graph. Its output ``logits`` (batch, length, 2) contains, for each token, the
    logits that an answer starts there and ends there."""
    graph.linear(graph.encoder(), "reader.span", [graph.shape.hidden, 2])
    return graph.model("logits", ["batch", "length", 2], ["ids"])


def _entailment(graph: _Graph) -> bytes:
    """The graph of an entailment network. Its output ``logits`` (batch, 3) contains the logits of
    entailment, neutral and contradiction.

    The input ``query`` (batch, length) float32 is 1.0 for the tokens of the hypothesis, which come
    first in a row. The last layer is computed only for these tokens.
    """
    hidden = graph.shape.hidden
    wanted = graph.up_to("query")
    x = graph.encoder(wanted)
    query = graph.first("query", wanted, 1)
    number = graph.constant
    axis1, axis2 = graph.index(1), graph.index(2)
    mask = graph.add("Unsqueeze", [query, axis2])
    count = graph.add("Max", [
        graph.add("ReduceSum", [mask, axis1], keepdims=0),
        number("one", TensorProto.FLOAT, [1], [1.0])])
    if graph.eight_bits:  # for a single row, ReduceSum would add in another order
        total = graph.add("Squeeze", [
            graph.add("MatMul", [graph.add("Unsqueeze", [query, axis1]), x]), axis1])
    else:
        total = graph.add("ReduceSum", [graph.add("Mul", [x, mask]), axis1], keepdims=0)
    mean = graph.add("Div", [total, count])
    away = graph.add("Mul", [
        graph.add("Sub", [mask, "one"]), number("far", TensorProto.FLOAT, [1], [1e4])])
    peak = graph.add("Max", [
        graph.add("ReduceMax", [graph.add("Add", [x, away]), axis1], keepdims=0),
        number("floor", TensorProto.FLOAT, [1], [-1e3])])
    first = graph.add("Gather", [x, number("at0", TensorProto.INT64, [], [0])], axis=1)
    pooled = graph.add("Concat", [first, mean, peak], axis=-1)
    dense = graph.add("Tanh", [
        *graph.linear(pooled, f"{graph.prefix}.dense", [3 * hidden, hidden])])
    graph.linear(dense, f"{graph.prefix}.classify", [hidden, 3])
    return graph.model(
        "logits", ["batch", 3], ["states" if graph.shape.apart else "ids", "query"])
