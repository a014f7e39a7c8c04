"""Hostile input in large numbers: `python benchmarks/fuzz.py [--cases N] [--programs N] [--kills N] [--first N]`.

Method. Valid inputs of every kind that the program reads are spoilt: YAML by node, tables by cell, JSON by value, any
of them by line or by byte, and by values that break programs elsewhere. Case `i` of a kind comes from a generator
seeded with the kind and `i` alone, so that a case which fails is made again by itself (`--only KIND:I`). `--first`
begins with another number, for input that no run has had yet.

- In process (`--cases`): each case goes through the function with which the command line reads that kind; one blueprint
  in two hundred is planned too. Answers of servers come through a transport in memory.
- As whole programs (`--programs`): a process forked from one that has the modules loaded runs the command line with
  its own arguments, output and exit code.
- Kills (`--kills`): `build` dies by SIGKILL before one of its operations on the disk, or after a time, in a new and in
  an existing folder; then it runs again, for another cluster.

A case fails if it ends in anything but a result or an error for people (no traceback, no exit code 70), takes more than
5 s of processor time or 1 GB, or if anything outside its own folder was written or removed: Python's audit events tell
every file that is opened for writing, moved or removed by path, and the content of the folder around it is compared.
"""

import argparse
import csv
import hashlib
import importlib
import io
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from forked_process import finished, forked

from clusterwright.plan.text.money import USD

ROOT = Path(__file__).resolve().parents[1]
MOST_CPU_S, MOST_BYTES = 5.0, 10**9
#: After this the case is broken off.
HANGS_AFTER_S = 120

BLUEPRINT = (ROOT / "tests" / "small.yaml").read_text(encoding="utf-8")
#: Sections beside the ones above, put in by turns so that their keys are spoilt too.
SECTIONS = """\
economics: {horizon: 36 months, utilisation: 0.8, discount_rate: 8 %, budget: 5 MUSD, as_of: 2026-10-01}
site: {power_limit: 400 kW, rack_power: 40 kW}
storage: {read_bandwidth: 100 GB/s}
data: {workers: 8, prefetch: 2, staging: nvme}
cluster: {tags: {owner: ml-platform}, partition: gpu, time_to_live: 7 days}
reliability: {checkpoint: {strategy: async, keep: 3, write_within: 60 s}, spare_nodes: 1, repair: 24 h}
tco: {uncertainty: {run_time: 10 %}}
description: a run of the spring
"""
PARTS = (
    "part,like,name,power_max_w,height_u,weight_kg,price_usd,priced_on,note\n"
    "our-hgx,dgx-h100,Our HGX,9800,6,,280000,2026-10-02,contract\nqm9700,,,1600,1,,,,measured\n"
    "cat6-copper,,,,,,4.5,2026-10-02,\n"
)
QUOTES = (
    'Line,Part,Item,Quantity,Unit,Quote each,Quote currency,Vendor,Quoted on,"Lead time, weeks"\n'
    "1,dgx-h100,NVIDIA DGX H100,4,each,310000,USD,Acme,2026-10-01,12\n"
    "2,qm9700,Switch,2,each,31000.50,EUR,Acme,2026-10-01,\n"
)
PRICES = (
    "sku,term,charge,unit,amount,effective_from,provider,region,currency,note\n"
    "aws/p5.48xlarge,on_demand,hourly,node,55.04,2026-10-01,aws,us-east-1,USD,list\n"
    "dgx-h100,purchase,once,each,329580,2026-10-01,,,USD,quote of a vendor\n"
)
EXPORT = (
    "ProviderName,ServiceName,SkuId,ChargeCategory,ChargeClass,PricingCategory,BillingCurrency,PricingUnit,"
    "PricingQuantity,ConsumedUnit,ConsumedQuantity,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,Tags,"
    "BilledCost,EffectiveCost\n"
    "AWS,Amazon Elastic Compute Cloud,p5.48xlarge,Usage,,Standard,USD,Hours,24,Hours,24,2026-10-01T00:00:00Z,"
    '2026-10-02T00:00:00Z,2026-10-01T00:00:00Z,"{""gpu-cluster"": ""small""}",1320.96,1320.96\n'
    "AWS,Amazon Simple Storage Service,s3,Usage,,Standard,USD,GB-Months,1000,GB,1000,2026-10-02T00:00:00Z,"
    '2026-10-03T00:00:00Z,2026-10-01T00:00:00Z,"{""gpu-cluster"": ""small""}",23.0,23.0\n'
)
CONFIG: dict[str, Any] = {
    "model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 4096,
    "tie_word_embeddings": False, "rope_scaling": {"factor": 2.0, "type": "linear"},
}  # fmt: skip
AZURE_ITEM = {
    "armRegionName": "eastus", "armSkuName": "Standard_ND96isr_H100_v5", "currencyCode": "USD", "retailPrice": 98.32,
    "effectiveStartDate": "2026-10-01T00:00:00Z", "isPrimaryMeterRegion": True, "meterId": "1",
    "unitOfMeasure": "1 Hour",
    "meterName": "ND96isr H100 v5", "productName": "Virtual Machines NDsr H100 v5 Series", "type": "Consumption",
    "serviceName": "Virtual Machines", "skuName": "ND96isr H100 v5", "tierMinimumUnits": 0.0,
}  # fmt: skip

#: Values that break programs: what people type by mistake, and what attackers type.
HOSTILE = (
    "", " ", "null", "~", "-1", "0", "-0.0", "1e999", "-1e999", ".nan", "nan", "NaN", "inf", "-.inf", "Infinity",
    "1e-999", "no", "true", "[]", "{}", "[1, 2]", "{a: {b: {c: 1}}}", "'x", '"', "&a *a", "*a", "!!int x",
    "!!python/object:os.system", "!!binary aGk=", "!!timestamp 2026", "!!set {a}", "2e12", "99999999999", "9" * 30,
    "9" * 400, "9" * 5000, "1" + "0" * 4400, "-" + "9" * 5000, "0x" + "f" * 5000, "1_000", "1__0", "0o17", "0b11",
    "1,5", "1.2.3", "0.1e", "1e5000", "5e-324", "1e308", "30 days", "-30 days", "1e308 years", "0 s", "1 fortnight",
    "1e300 TB", "80 %", "-5 %", "1000000 %", "1e400 kW", "$5", "5 MUSD", "2026-10-01", "2026-13-45", "0000-00-00",
    "9999-12-31", "10000-01-01", "2026-10-01T25:00:00Z", "2026-W01-1", "20261001", "Ω", "e\u0301", "\u202egnp",
    "\u200b", "\ufeff", "\x00", "\x1b[2J", "\x07", "\x85", "\u2028", "\ud83d\ude00", "\ud800", "\u0665",
    "\u0665\u0660", "\uff11\uff12", "\u00b2", "\u2460", "1\u00a0000", "1\u202f000", "\u2212" + "5", "x" * 300,
    "x" * 131_073, "a: b", "? x", "- ", "|", ">", "|2\n  x", "<script>alert(1)</script>", "`id`", "$(id)", "${HOME}",
    "%s%n", "{{7*7}}", "{% raw", "=cmd()", "+1+1", "-2+3", "@SUM(A1)", "' or 1=1 --", "'; drop table prices; --",
    '"; rm -rf /; "', "a|b", "a\\", "\\", "../../x", "/etc/passwd", "/dev/zero", "/proc/self/environ",
    "file:///etc/passwd", "C:\\x", "con", ".", "..", "a/b", "-rf", "--help", "~root", "a\nb", "a\rb", "a\r\nb", "\t",
    "a,b", "a;b", '"a""b"', "[[", "]]", "<<: *a", "any", "all", "none", "None", "NULL", "undefined", "p5.48xlarge",
    "dgx-h100", "us-east-1", "gb300-nvl72", "llama-2-7b", "onprem", "1", "2", "3", "7", "8", "64", "1024", "65536",
    "1e6",
)  # fmt: skip


#: Headers of answers that are looked at.
ANSWERED = ("location", "content-length", "content-encoding", "etag", "last-modified", "retry-after", "content-range")
#: Changes to one input: most with one, because the first mistake often hides the others.
FEW = (1, 1, 1, 1, 2, 3)


class FailedError(Exception):
    """A case ended in another way than it may."""


# --- spoiling ---------------------------------------------------------------------------------------------------------


def hostile(chance: random.Random) -> str:
    """Return a value that breaks programs; the very long ones seldom."""
    value = chance.choice(HOSTILE)
    return value if len(value) < 1000 or chance.random() < 0.1 else chance.choice(HOSTILE[:50])


def spoilt_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with one to eight of them changed, cut, doubled or put in."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        place = chance.randrange(len(data) + 1)
        match chance.randrange(6):
            case 0:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[place : place + chance.randint(1, 20)]
            case 2:
                data[place:place] = data[place : place + chance.randint(1, 60)]
            case 3:
                data[place:place] = hostile(chance).encode("utf-8", "surrogatepass")
            case 4:
                data[place : place + 1] = chance.choice(
                    (b"\x00", b"\xff", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\xed\xa0\x80", b"\t")
                )
            case 5 if place:
                data[place - 1] ^= 1 << chance.randrange(8)
    if chance.random() < 0.02:
        data = data[: chance.randrange(len(data) + 1)]
    return bytes(data)


def spoilt_lines(text: str, chance: random.Random) -> str:
    """Return text with lines changed as a hand would: value replaced, dropped, doubled, shifted, swapped."""
    lines = text.split("\n")
    for _ in range(chance.choice(FEW)):
        index = chance.randrange(len(lines))
        key = lines[index].partition(":")[0]
        match chance.randrange(6):
            case 0 | 1:
                lines[index] = f"{key}: {hostile(chance)}"
            case 2:
                lines[index] = ""
            case 3:
                lines.insert(index, lines[index])
            case 4:
                lines[index] = chance.choice(("  ", " ", "\t")) + lines[index]
            case 5:
                other = chance.randrange(len(lines))
                lines[index], lines[other] = lines[other], lines[index]
    return chance.choice(("\n", "\n", "\n", "\r\n", "\r")).join(lines)


def spoilt_value(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """Return a value of JSON or YAML with one node replaced, dropped, doubled or nested."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        result = dict(value)
        match chance.randrange(10):
            case 0:
                del result[key]
            case 1:
                result[hostile(chance)] = result[key]
            case 2:
                result[key] = [result[key]] * chance.randint(0, 3)
            case _:
                result[key] = spoilt_value(value[key], chance, depth + 1)
        return result
    if isinstance(value, list) and value and chance.random() < 0.9:
        index = chance.randrange(len(value))
        if chance.random() < 0.1:
            return value * chance.choice((0, 2, 50))
        return [*value[:index], spoilt_value(value[index], chance, depth + 1), *value[index + 1 :]]
    return chance.choice((
        hostile(chance), None, True, 0, -1, 1.5, 1e308, 10**30, [], {}, [[[]]], {"": None}, {"a": {"b": 1}},
        nested(chance), 2**63, -(2**63), 1e-320,
    ))  # fmt: skip


def nested(chance: random.Random) -> Any:
    """Return a list in a list in a list."""
    value: Any = 1
    for _ in range(chance.choice((3, 30, 60, 150))):
        value = [value]
    return value


def spoilt_cells(text: str, chance: random.Random) -> str:
    """Return a CSV table with cells, columns, the header or the separator spoilt."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    for _ in range(chance.choice(FEW)):
        row = chance.choice(rows)
        index = chance.randrange(len(row)) if row else 0
        match chance.randrange(10):
            case 0:
                row.append(hostile(chance))
            case 1 if row:
                del row[index]
            case 2:
                rows.append(list(row))
            case 3:
                column = chance.randrange(len(rows[0]) or 1)
                for one in rows:
                    del one[column : column + 1]
            case _ if row:
                row[index] = hostile(chance)
    buffer = io.StringIO(newline="")
    ending = chance.choice(("\n", "\n", "\r\n", "\r"))
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    writer = csv.writer(buffer, delimiter=chance.choice(",,,,;\t"), lineterminator=ending, quoting=quoting)
    writer.writerows(rows)
    return buffer.getvalue()


def yaml_text(value: Any) -> str:
    """Return a value as YAML; strings as they are, so that they may break it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {yaml_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(yaml_text(one) for one in value) + "]"
    return "null" if value is None else str(value)


def block(value: Any, indent: int = 0) -> str:
    """Return a mapping as block YAML."""
    lines = []
    for key, one in value.items():
        pad = "  " * indent
        lines.append(
            f"{pad}{key}:\n{block(one, indent + 1)}"
            if isinstance(one, dict) and one
            else f"{pad}{key}: {yaml_text(one)}"
        )
    return "\n".join(lines)


def spoilt_yaml(text: str, chance: random.Random) -> bytes:
    """Return YAML spoilt by node, line or byte, at times in other encodings, with anchors that repeat, or deep."""
    match chance.randrange(20):
        case 0:
            return encoded(text, chance)
        case 1:
            levels = chance.choice((5, 20, 39, 41, 200, 2000))
            return (text + "deep: " + "[" * levels + "]" * levels + "\n").encode()
        case 2:
            anchors = "".join(
                f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(chance.randint(2, 9))
            )
            return (anchors + text).encode()
        case 3 | 4 | 5 | 6:
            return spoilt_bytes(text.encode(), chance)
        case 7 | 8 | 9 | 10:
            return spoilt_lines(text, chance).encode("utf-8", "surrogatepass")
    value = _values(text)
    for _ in range(chance.choice(FEW)):
        value = spoilt_value(value, chance)
        if not isinstance(value, dict) or not value:
            break
    return (block(value) if isinstance(value, dict) and value else yaml_text(value)).encode("utf-8", "surrogatepass")


@cache
def _values(text: str) -> Any:
    from ruamel.yaml import YAML

    return _plain(YAML(typ="safe", pure=True).load(text))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def encoded(text: str, chance: random.Random) -> bytes:
    """Return text as other programs save it."""
    return chance.choice((
        text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-32"), b"\xef\xbb\xbf" + text.encode(),
        text.encode() + b"\x1a", b"%PDF-1.4\n",
        b"\xef\xbb\xbf" * 2 + text.encode(), text.replace("\n", "\r\n").encode(), text.replace("\n", "\r").encode(),
        b"\0" + text.encode(), b"", b"\n" * 1000, b" " * 200_000, text.encode() * 1000,
        b"\x1f\x8b" + text.encode(), b"PK\x03\x04" + text.encode(),
    ))  # fmt: skip


def spoilt_table(text: str, chance: random.Random) -> bytes:
    """Return a CSV file spoilt by cell, byte or encoding."""
    match chance.randrange(12):
        case 0:
            return encoded(text, chance)
        case 1 | 2 | 3:
            return spoilt_bytes(text.encode(), chance)
    return spoilt_cells(text, chance).encode("utf-8", "surrogatepass")


def spoilt_json(value: Any, chance: random.Random) -> bytes:
    """Return JSON spoilt by value, byte or encoding."""
    text = json.dumps(value)
    match chance.randrange(12):
        case 0:
            return encoded(text, chance)
        case 1 | 2 | 3:
            return spoilt_bytes(text.encode(), chance)
        case 4:
            return b'{"files": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        case 5:
            return text.replace("1", "9" * 5000, 1).encode()
    for _ in range(chance.choice(FEW)):
        value = spoilt_value(value, chance)
    return json.dumps(value).encode("utf-8", "surrogatepass")


def spoilt_workbook(chance: random.Random) -> bytes:
    """Return an XLSX file of quotes with cells spoilt, cells far away, or parts of its archive spoilt."""
    import zipfile

    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    csv.field_size_limit(10**6)
    rows = list(csv.reader(io.StringIO(spoilt_cells(QUOTES, chance), newline="")))
    csv.field_size_limit(131_072)
    for row in rows:
        try:
            sheet.append(row)
        except (ValueError, openpyxl.utils.exceptions.IllegalCharacterError):
            continue
    match chance.randrange(8):
        case 0:
            sheet.cell(row=chance.choice((99_999, 1_048_576)), column=1, value="x")
        case 1:
            sheet.cell(row=1, column=chance.choice((999, 16_384)), value="x")
        case 2:
            sheet.cell(row=2, column=5).value = chance.choice((float("1e308"), True, "=1/0", "#N/A"))
    buffer = io.BytesIO()
    book.save(buffer)
    content = buffer.getvalue()
    if chance.random() < 0.4:
        return spoilt_bytes(content, chance)
    if chance.random() < 0.5:
        again = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(content)) as source,
            zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target,
        ):
            names = source.namelist()
            chosen = chance.choice(names)
            for name in names:
                data = source.read(name)
                if name == chosen and chance.random() < 0.2:
                    continue
                target.writestr(name, spoilt_bytes(data, chance) if name == chosen else data)
        return again.getvalue()
    return content


# --- what reads each kind ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case: its generator of chance, and a folder of its own inside a folder that must stay as it is."""

    chance: random.Random
    folder: Path
    number: int = 0

    def file(self, name: str, content: bytes) -> Path:
        """Write an input file."""
        path = self.folder / name
        path.write_bytes(content)
        return path


@cache
def _catalogue() -> Any:
    from clusterwright.catalog.load import load

    return load()


def full_blueprint(chance: random.Random) -> str:
    """Return the blueprint with some of the other sections, or the commented one that `init` writes."""
    if chance.random() < 0.1:
        return (ROOT / "templates" / "blueprint" / "train.yaml").read_text(encoding="utf-8")
    return BLUEPRINT + "".join(line + "\n" for line in SECTIONS.splitlines() if chance.random() < 0.3)


def a_blueprint(case: Case) -> None:
    """Read a blueprint, with values of the command line; plan one in two hundred."""
    from clusterwright.blueprint.load import load
    from clusterwright.cli.planning import plan_of

    chance = case.chance
    path = case.file("blueprint.yaml", spoilt_yaml(full_blueprint(chance), chance))
    values: tuple[str, ...] = ()
    if chance.random() < 0.2:
        key = chance.choice(
            (
                "workload.tokens",
                "name",
                "targets.aws.max_nodes",
                "goals",
                "a.b.c",
                "economics.horizon",
                "workload.model",
                "",
            )
        )
        values = (f"{key}={hostile(chance)}",)
    if case.number % 200 == 0:
        plan_of(path, list(values))
    else:
        _ = load(path, values).fingerprint


def a_parts_file(case: Case) -> None:
    """Read a file of own parts."""
    from clusterwright.blueprint.reading.parts_file import read_parts

    read_parts(case.file("parts.csv", spoilt_table(PARTS, case.chance)), _catalogue())


def a_quote(case: Case) -> None:
    """Read a bill of materials that came back, as CSV."""
    _quotes(case.file("quotes.csv", spoilt_table(QUOTES, case.chance)))


def a_workbook(case: Case) -> None:
    """Read a bill of materials that came back, as a workbook."""
    _quotes(case.file("quotes.xlsx", spoilt_workbook(case.chance)))


def _quotes(path: Path) -> None:
    from clusterwright.feeds.exchange_rates import parse_rates
    from clusterwright.feeds.vendor_quotes import read_vendor_quotes

    read_vendor_quotes(path, parse_rates(["EUR=1.08@2026-10-01"])).check((), {})


def a_price_list(case: Case) -> None:
    """Read a list of prices that people keep."""
    from clusterwright.feeds.quotes import read_quotes

    read_quotes(case.file("prices.csv", spoilt_table(PRICES, case.chance)))


@cache
def _runs() -> str:
    lines = (ROOT / "tests" / "published" / "training_runs.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join([lines[0], *lines[1:6]])


def training_runs(case: Case) -> None:
    """Read measured runs."""
    from clusterwright.evidence.training.calibrate import read

    read(case.file("runs.csv", spoilt_table(_runs(), case.chance)), _catalogue())


#: Measurements of each kind; configurations are made up, figures are of the right size.
SERVING_RUNS = """\
id,suspect,model,hardware,n_gpus,tp,pp,ep,dp_attention,disaggregated,prefill_gpus,decode_gpus,prefill_tp,prefill_ep,\
prefill_dp_attention,prefill_workers,decode_tp,decode_ep,decode_dp_attention,decode_workers,speculative,framework,\
precision,isl,osl,concurrency,tput_per_gpu,ttft_mean_s,ttft_median_s,ttft_p99_s,tpot_median_s,\
joules_per_output_token,overlap_serving_runs
a,0,Llama-3.3-70B,h200,4,4,,1,0,0,,,,,,0,,,,0,none,vllm,fp8,1024,1024,32,1000,0.2,0.12,0.6,0.014,1.2,0
b,0,DeepSeek-R1,b200,12,,,,,1,4,8,4,4,0,1,8,8,1,1,mtp,dynamo-sglang,fp4,8192,1024,128,3000,2,1.8,9,0.02,,0
c,0,gpt-oss-120b,gb200,1,1,,1,0,0,,,,,,0,,,,0,none,an engine,fp4,1024,8192,,500,,,,,,0
"""
FINETUNING_RUNS = """\
source,model,method,quant,micro_batch,seq,trainable_params,gpus,gpu,measured_peak_gb,predicted_gb,ape,global_batch,\
grad_accum,samples_per_s,tokens_per_s_per_gpu,time_to_train_min,n_runs,nodes,framework,notes
x@1,Llama-3.1-8B,lora r8 all layers,none,2,2048,,1,A100,20,1,9,,,,4000,,,,torchtune,peak 18.6 GiB
y@2,Llama-2-70B,lora r16 (fused qkv + proj),fp8 or nvfp4 or bf16,1.0,8192,44564480,8,B200,,,,8,1,,6000,9.5,,1,NeMo,
x@1,Llama-3.1-8B,qlora,nf4,2,2048,,1,H100,12,,,,,,,,,,torchtune,
x@1,Llama-3.1-8B,inference bs1,none,1,,,1,A100,17,,,,,,,,,,,
"""
TRACE = "arrival_s,input_tokens,output_tokens,cached_tokens\n0,1000,200,0\n0.5,30,1,10\n0.5,8000,900,0\n2,5,5,0\n"


def serving_runs(case: Case) -> None:
    """Read and predict measurements of served replicas."""
    from clusterwright.cli.measured.validate_serving import serving

    _measurements(case, SERVING_RUNS, serving)


def finetuning_runs(case: Case) -> None:
    """Read and predict measurements of fine-tuning."""
    from clusterwright.cli.measured.validate_serving import finetune

    _measurements(case, FINETUNING_RUNS, finetune)


def _measurements(case: Case, valid: str, validate: Callable[..., int]) -> None:
    path = case.file("runs.csv", spoilt_table(valid, case.chance))
    with redirect_stdout(io.StringIO()):
        validate(path, models=None, predictions_to=case.folder / "predictions.csv", as_json=bool(case.number % 2))


def a_trace(case: Case) -> None:
    """Read a trace of requests."""
    from clusterwright.sizing.serving.arrivals.requests import read_trace

    read_trace(case.file("trace.csv", spoilt_table(TRACE, case.chance)))


def a_service(case: Case) -> None:
    """Read the blueprint of a service; plan one in two hundred."""
    from clusterwright.blueprint.load import load
    from clusterwright.cli.planning import plan_of

    path = case.file("blueprint.yaml", spoilt_yaml(_service(), case.chance))
    if case.number % 200 == 0:
        plan_of(path, [])
    else:
        _ = load(path, ()).fingerprint


@cache
def _service() -> str:
    return (ROOT / "blueprints" / "serve-llama3-70b.yaml").read_text(encoding="utf-8")


@cache
def _cases() -> tuple[str, ...]:
    return tuple(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "published" / "tco").glob("*.yaml"))
    )


@cache
def _book() -> Any:
    from clusterwright.pricing.book import PriceBook

    return PriceBook.open()


def a_cost_case(case: Case) -> None:
    """Read a published cost calculation; run one in fifty."""
    from clusterwright.evidence.cost_cases.check import check_case
    from clusterwright.evidence.cost_cases.reading import read_case

    shortest = sorted(_cases(), key=len)[:12]
    path = case.file("case.yaml", spoilt_yaml(case.chance.choice(shortest), case.chance))
    if case.number % 50 == 0:
        check_case(path, _book())
    else:
        read_case(path)


def a_bill(case: Case) -> None:
    """Read a FOCUS export."""
    from clusterwright.tco.focus.export import read_focus

    path = case.file("export.csv", spoilt_table(EXPORT, case.chance))
    read_focus([path], tag="gpu-cluster", value="small", cost="effective", count_repeated=False)


def a_model(case: Case) -> None:
    """Read a configuration of a model."""
    from clusterwright.catalog.configs.hugging_face import model_from_config

    model_from_config(case.file("config.json", spoilt_json(CONFIG, case.chance)))


@cache
def _plan_json() -> Any:
    from clusterwright.cli.planning import plan_of
    from clusterwright.plan.document import dumps

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "blueprint.yaml"
        path.write_text(BLUEPRINT)
        return json.loads(dumps(plan_of(path, None)))


def a_plan(case: Case) -> None:
    """Read a plan.json."""
    from clusterwright.cli.written.diff import plan_of_file

    plan_of_file(case.file("plan.json", spoilt_json(_plan_json(), case.chance)))


def a_feed_file(case: Case) -> None:
    """Read a saved document of a provider."""
    from clusterwright.feeds.fetch import FEEDS

    name = case.chance.choice(("azure", "gcp", *(name for name in FEEDS if name not in ("azure", "gcp"))))
    page = {"Items": [AZURE_ITEM], "Count": 1, "NextPageLink": None}
    json_kinds = name != "focus"
    content = (
        spoilt_json(page, case.chance)
        if json_kinds and case.chance.random() < 0.7
        else spoilt_table(EXPORT, case.chance)
    )
    suffix = "json" if content[:1] in b"{[" else "csv"
    made = case.folder / "made"
    made.mkdir()
    FEEDS[name].read([case.file(f"document.{suffix}", content)], made)


def an_answer(case: Case) -> None:
    """Fetch from a server that answers anything, in memory."""
    import httpx

    from clusterwright.feeds import azure
    from clusterwright.feeds.download import Fetcher, Manners
    from clusterwright.feeds.reading import Asked

    chance = case.chance

    def answer(request: httpx.Request) -> httpx.Response:
        status = chance.choice(
            (
                200,
                200,
                200,
                200,
                200,
                206,
                204,
                301,
                302,
                307,
                308,
                400,
                401,
                404,
                416,
                429,
                500,
                503,
                100 + chance.randrange(500),
            )
        )
        headers = [("content-type", chance.choice(("application/json", "text/html", "text/csv", hostile(chance))))]
        targets = (
            hostile(chance),
            "https://prices.azure.com/api",
            "http://127.0.0.1/",
            "//evil",
            str(request.url),
            "5",
        )
        headers += [
            (name, chance.choice(targets))
            for name in ANSWERED
            if chance.random() < (0.7 if name == "location" else 0.1)
        ]
        page = {
            "Items": [AZURE_ITEM],
            "Count": 1,
            "NextPageLink": chance.choice((None, str(request.url), hostile(chance))),
        }
        body = (
            spoilt_json(page, chance) if chance.random() < 0.7 else json.dumps(page | {"NextPageLink": None}).encode()
        )
        raw = [
            (name.encode(), value.encode("utf-8", "surrogatepass").replace(b"\n", b" ").replace(b"\r", b" "))
            for name, value in headers
            if len(value) < 60_000
        ]
        return httpx.Response(status, headers=raw, stream=httpx.ByteStream(body))

    manners = Manners(attempts=2, first_wait_s=0.0, most_wait_s=0.0, pause_s=0.0, deadline_s=30.0)
    with Fetcher(manners=manners, redirect_hosts=("evil",), sleep=lambda _s: None) as fetcher:
        fetcher._client = httpx.Client(transport=httpx.MockTransport(answer))
        made = case.folder / "made"
        made.mkdir()
        azure.fetch(fetcher, Asked(regions=("eastus",), services=(), url=azure.URL, keys={}, folder=made))


def a_manifest(case: Case) -> None:
    """Write into a folder whose record, or record of an interrupted run, somebody else made, with links in the way."""
    from clusterwright.outputs.folder import text, write

    chance = case.chance
    out = case.folder / "out"
    files = {"plan.json": text("{}"), "aws/run.sh": text("#!/bin/sh"), "aws/deep/er.py": text("x")}
    write(out, files)
    victim = case.folder.parent / "outside" / "victim"
    digest = hashlib.sha256(victim.read_bytes()).hexdigest()
    record = json.loads((out / ".written.json").read_text())
    names = (
        "../outside/victim", "../../outside/victim", str(victim), "aws/../../../outside/victim", "./plan.json", "a//b",
        ".writing/000000", ".written.json", "link/victim", "linkfile", "aws", "\x00", "x" * 5000, "aws/" * 3000 + "x",
        "", ".", "..", hostile(chance),
    )  # fmt: skip
    for _ in range(chance.randint(0, 3)):
        record["files"][chance.choice(names)] = chance.choice(
            (digest, hostile(chance), None, 5, record["files"]["plan.json"])
        )
    if chance.random() < 0.3:
        record["merged"] = spoilt_value({"plan.json": "{}"}, chance)
    content = json.dumps(record).encode() if chance.random() < 0.6 else spoilt_json(record, chance)
    place = out / chance.choice((".written.json", ".written.json", ".writing/.written.json", ".written.json.new"))
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    if chance.random() < 0.3:
        (out / "link").symlink_to(case.folder.parent / "outside")
    if chance.random() < 0.3:
        (out / "linkfile").symlink_to(victim)
    if chance.random() < 0.2:
        shutil.rmtree(out / "aws")
        (out / "aws").symlink_to(case.folder.parent / "outside")
    if chance.random() < 0.1:
        place.unlink()
        chance.choice((lambda: place.symlink_to(victim), lambda: os.mkfifo(place), place.mkdir))()
    if chance.random() < 0.2:
        (out / ".writing").mkdir(exist_ok=True)
        (out / ".writing" / chance.choice(("000000", "mine", "000001"))).write_text("mine")
    if chance.random() < 0.2:
        out = case.folder / "out2"
        partial = case.folder / ".out2.partial"
        partial.mkdir()
        (partial / ".written.json").write_bytes(content)
        if chance.random() < 0.3:
            (partial / "aws").symlink_to(case.folder.parent / "outside")
    new = {"plan.json": text("new"), "gcp/main.py": text("y"), "victim": text("z"), "link/victim": text("w")}
    write(out, chance.choice((files, new)), force=chance.random() < 0.5)


#: What is read, and how many of 1,000 cases are of it.
KINDS: dict[str, tuple[Callable[[Case], None], int]] = {
    "blueprint": (a_blueprint, 370),
    "service": (a_service, 100),
    "parts": (a_parts_file, 50),
    "quote": (a_quote, 60),
    "workbook": (a_workbook, 15),
    "price list": (a_price_list, 60),
    "training runs": (training_runs, 40),
    "serving runs": (serving_runs, 20),
    "fine-tuning runs": (finetuning_runs, 20),
    "trace": (a_trace, 10),
    "cost case": (a_cost_case, 40),
    "bill": (a_bill, 10),
    "model": (a_model, 50),
    "plan": (a_plan, 15),
    "feed file": (a_feed_file, 50),
    "answer": (an_answer, 50),
    "manifest": (a_manifest, 60),
}


# --- running ----------------------------------------------------------------------------------------------------------

#: Events of Python that change a file, with the places of paths among their arguments.
_EVENTS = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.link": (0, 1), "os.symlink": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "shutil.rmtree": (0,), "shutil.move": (0, 1), "os.chown": (0,),
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass
class Watch:
    """Names of files that were changed outside a folder, by Python's audit events."""

    allowed: Path | None = None
    changed: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Take an event."""
        if self.allowed is None:
            return
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, int) or not (
                (flags or 0) & _WRITING or (isinstance(mode, str) and set(mode) & set("wax+"))
            ):
                return
            self._look(event, path)
        elif event in _EVENTS:
            for index in _EVENTS[event]:
                self._look(event, arguments[index])

    def _look(self, event: str, path: Any) -> None:
        # Relative ones go through a descriptor of the folder: the comparison of the content sees those.
        name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        if name.startswith("/") and not name.startswith(("/dev/null", str(self.allowed))) and "__pycache__" not in name:
            real = str(Path(name).parent.resolve() / Path(name).name)
            if not real.startswith(str(self.allowed)):
                self.changed.append(f"{event} {name}")


WATCH = Watch()


def snapshot(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return every entry below a folder: kind and mode, size, and what it holds or leads to."""
    found = {}
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        inside = str(path.readlink()) if path.is_symlink() else ""
        if stat.S_ISREG(about.st_mode):
            inside = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_size, inside)
    return found


@contextmanager
def surroundings() -> Iterator[Path]:
    """Give a folder with a folder `outside` that holds what must stay as it is."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as name:
        root = Path(name).resolve()
        (root / "outside").mkdir()
        (root / "outside" / "victim").write_text("victim")
        (root / "outside" / ".hidden").write_text("hidden")
        before = signal.signal(signal.SIGALRM, _too_long)
        try:
            yield root
        finally:
            signal.signal(signal.SIGALRM, before)


def _too_long(_number: int, _frame: Any) -> None:
    raise FailedError(f"hangs: more than {HANGS_AFTER_S} s")


def run_case(kind: str, number: int, root: Path) -> str:
    """Run one case in this process; return how it ended: `result` or the error's class, or what failed."""
    from clusterwright.cli.ending import show_error
    from clusterwright.errors import ClusterwrightError

    folder = root / "case"
    folder.mkdir()
    before, started = snapshot(root / "outside"), time.process_time()
    said = io.StringIO()
    WATCH.allowed, WATCH.changed, tempfile.tempdir = folder, [], str(folder)
    signal.alarm(HANGS_AFTER_S)
    failure = ""
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            try:
                KINDS[kind][0](Case(chance=random.Random(f"{kind}:{number}"), folder=folder, number=number))
                ended = "result"
            except ClusterwrightError as error:
                ended = type(error).__name__
                show_error(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        place = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{type(error).__name__}: {str(error)[:200]} at {place.filename}:{place.lineno}"
        ended = ""
    finally:
        signal.alarm(0)
        WATCH.allowed, tempfile.tempdir = None, None
    took = time.process_time() - started
    if took > MOST_CPU_S:
        failure = failure or f"took {took:.1f} s"
    if WATCH.changed:
        failure = f"outside: {WATCH.changed[:3]}"
    if snapshot(root / "outside") != before or {path.name for path in root.iterdir()} != {"outside", "case"}:
        failure = "the folder around it changed"
    if len(said.getvalue()) > 100_000:
        failure = failure or f"{len(said.getvalue()):,} characters of message"
    shutil.rmtree(folder)
    return f"FAILED {failure}" if failure else ended


def kinds_of(cases: int, first: int) -> Iterator[tuple[str, int]]:
    """Yield kind and number of each case, kinds mixed by their shares."""
    names, shares = list(KINDS), [share for _, share in KINDS.values()]
    chance, numbers = random.Random(1), Counter(dict.fromkeys(names, first))
    for _ in range(cases):
        kind = chance.choices(names, shares)[0]
        yield kind, numbers[kind]
        numbers[kind] += 1


def in_process(cases: int, say: Callable[[str], None], first: int = 0) -> dict[str, Counter[str]]:
    """Run cases one after the other; return how they ended, by kind."""
    ended: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    slowest, most = 0.0, 0
    with surroundings() as root:
        for index, (kind, number) in enumerate(kinds_of(cases, first)):
            started = time.process_time()
            how = run_case(kind, number, root)
            slowest = max(slowest, time.process_time() - started)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            if most <= MOST_BYTES < peak:
                how = f"FAILED {peak / 1e6:,.0f} MB"
            most = max(most, peak)
            ended[kind][how.split(" ", 1)[0]] += 1
            if how.startswith("FAILED"):
                say(f"{kind}:{number} {how}")
            if index % 5000 == 4999:
                say(f"{index + 1} cases, slowest {slowest:.2f} s of processor time, {most / 1e6:,.0f} MB at most")
    say(f"in process: slowest {slowest:.2f} s of processor time, {most / 1e6:,.0f} MB at most")
    return ended


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What a command's arguments are made of: a case, its blueprint, values for it, and a folder to write."""

    case: Case
    blueprint: Path
    extra: tuple[str, ...]
    out: Path

    @property
    def chance(self) -> random.Random:
        """The case's generator."""
        return self.case.chance


def _check(given: Inputs) -> list[str]:
    return ["check", str(given.blueprint), *given.extra, *(["--json"] if given.chance.random() < 0.3 else [])]


def _plan(given: Inputs) -> list[str]:
    target = given.chance.choice(("aws", "onprem", "all", _one_word(given.chance)))
    return ["plan", str(given.blueprint), "--on", target, *given.extra, "--quiet"]


def _validate_training(given: Inputs) -> list[str]:
    return ["validate", "training", str(given.case.file("runs.csv", spoilt_table(_runs(), given.chance)))]


def _validate_tco(given: Inputs) -> list[str]:
    content = spoilt_yaml(given.chance.choice(_cases()), given.chance)
    return ["validate", "tco", str(given.case.file("case.yaml", content))]


def _actual(given: Inputs) -> list[str]:
    export = given.case.file("export.csv", spoilt_table(EXPORT, given.chance))
    whole = given.chance.random() < 0.7
    plan = json.dumps(_plan_json()).encode() if whole else spoilt_json(_plan_json(), given.chance)
    return ["actual", str(given.case.file("plan.json", plan)), str(export)]


def _plan_with_quotes(given: Inputs) -> list[str]:
    chance = given.chance
    if chance.random() < 0.5:
        quotes = given.case.file("q.csv", spoilt_table(QUOTES, chance))
    else:
        quotes = given.case.file("q.xlsx", spoilt_workbook(chance))
    rate = chance.choice(("EUR=1.08@2026-10-01", "EUR=nan@2026-10-01", "x"))
    return ["plan", str(given.blueprint), "--quotes", str(quotes), "--rate", rate, "--quiet"]


def _fetch(given: Inputs) -> list[str]:
    name = given.chance.choice(("azure", "gcp", "aws", "quotes", "focus", _one_word(given.chance)))
    content = spoilt_json({"Items": [AZURE_ITEM], "Count": 1, "NextPageLink": None}, given.chance)
    page = given.case.file("page.json", content)
    return ["prices", "fetch", name, "--from", str(page), "--store", str(given.case.folder / "store.duckdb")]


def _import(given: Inputs) -> list[str]:
    prices = given.case.file("prices.csv", spoilt_table(PRICES, given.chance))
    source = given.chance.choice(("me", _one_word(given.chance)))
    return ["prices", "import", str(prices), "--source", source, "--store", str(given.case.folder / "store.duckdb")]


def _check_parts(given: Inputs) -> list[str]:
    given.case.file("parts.csv", spoilt_table(PARTS, given.chance))
    path = given.chance.choice(("parts.csv", "parts.csv", "../outside/victim", "/etc/passwd", "/dev/zero"))
    given.blueprint.write_text(f"{BLUEPRINT}    parts: {path}\n")
    return ["check", str(given.blueprint)]


def _write_documents(given: Inputs) -> list[str]:
    folder, out = given.case.folder, given.out
    if given.chance.random() < 0.3:
        link = folder / "link"
        link.symlink_to(folder.parent / "outside")
        if given.chance.random() < 0.5:
            out = link / "out"
        else:
            out = folder / "out"
            out.mkdir()
            (out / "racks").symlink_to(folder.parent / "outside")
    forced = ["--force"] if given.chance.random() < 0.3 else []
    return ["onprem", str(given.blueprint), "-o", str(out), *given.extra, *forced]


def _one_word(chance: random.Random) -> str:
    """Return a hostile argument: no argument of a program holds a zero byte."""
    return hostile(chance).replace("\0", "")


#: Commands by their share of the programs.
COMMANDS: tuple[Callable[[Inputs], list[str]], ...] = (
    _check,
    _check,
    _check,
    _plan,
    _validate_training,
    _validate_tco,
    _actual,
    _plan_with_quotes,
    _fetch,
    _import,
    _check_parts,
    _write_documents,
)


def arguments_of(chance: random.Random, folder: Path) -> list[str]:
    """Write spoilt input files for one command; return its arguments."""
    case = Case(chance=chance, folder=folder)
    blueprint = case.file(
        "blueprint.yaml", spoilt_yaml(full_blueprint(chance), chance) if chance.random() < 0.7 else BLUEPRINT.encode()
    )
    value = f"{chance.choice(('workload.tokens', 'name', 'targets.aws.max_nodes', 'a.b'))}={hostile(chance)}".replace(
        "\0", "\\0"
    )
    extra = ("--set", value) if chance.random() < 0.3 else ()
    out = folder / chance.choice(
        ("out", "out", "o\x1b[2Jut", "o\nut", "out\u202e", "-out", "a/b/c", "blueprint.yaml", "o" * 250)
    )
    return chance.choice(COMMANDS)(Inputs(case=case, blueprint=blueprint, extra=extra, out=out))


def run_program(arguments: list[str], folder: Path) -> tuple[int, float, int, str]:
    """Run the command line in a process of its own; return exit code, processor seconds, bytes and messages."""
    errors = folder.parent / f"{folder.name}.err"

    def work() -> int:
        os.chdir(folder)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(HANGS_AFTER_S)
        with errors.open("wb") as target:
            os.dup2(target.fileno(), 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        code = command_line(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return code

    ended = finished(forked(work))
    text = errors.read_text(errors="replace")
    errors.unlink()
    return ended.code, ended.processor_s, ended.bytes, text


def command_line(arguments: list[str]) -> int:
    """Run the command line in this process; return its exit code."""
    from clusterwright.cli.main import run

    sys.argv = ["clusterwright", *arguments]
    try:
        run()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def programs(count: int, say: Callable[[str], None], first: int = 0) -> Counter[str]:
    """Run whole programs; return how they ended, by command and exit code."""
    ended: Counter[str] = Counter()
    slowest, most = 0.0, 0
    _plan_json()
    with surroundings() as root:
        for number in range(first, first + count):
            folder = root / "case"
            folder.mkdir()
            before = snapshot(root / "outside")
            try:
                arguments = arguments_of(random.Random(f"program:{number}"), folder)
                arguments = [os.fsdecode(os.fsencode(one.encode("utf-8", "replace"))) for one in arguments]
                code, took, peak, said = run_program(arguments, folder)
            except OSError as error:
                # An argument of more than the system takes, or a name that it does not.
                ended[f"not started: {error.strerror}"] += 1
                shutil.rmtree(folder)
                continue
            slowest, most = max(slowest, took), max(most, peak)
            wrong = ""
            if code not in (0, 1, 2, 3) or "Traceback" in said:
                wrong = f"exit {code}: {said.strip()[-300:]}"
            elif took > MOST_CPU_S or peak > MOST_BYTES:
                wrong = f"{took:.1f} s, {peak / 1e6:,.0f} MB"
            elif snapshot(root / "outside") != before and "link/out" not in " ".join(arguments):
                wrong = "the folder around it changed"
            if "\x1b[2J" in said or "\u202e" in said:
                wrong = wrong or "a control character reached the terminal"
            ended[f"{arguments[0]} {'FAILED' if wrong else code}"] += 1
            if wrong:
                say(f"program:{number} {arguments!r:.300} FAILED {wrong}")
            shutil.rmtree(folder)
            shutil.rmtree(root / "outside")
            (root / "outside").mkdir()
            (root / "outside" / "victim").write_text("victim")
            if number % 500 == 499:
                say(f"{number + 1} programs, slowest {slowest:.2f} s of processor time, {most / 1e6:,.0f} MB at most")
    say(f"programs: slowest {slowest:.2f} s of processor time, {most / 1e6:,.0f} MB at most")
    return ended


#: Events before which a `build` is killed.
_DISK = ("open", "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod")


def load_all() -> None:
    """Load every module, so that processes forked from this one need not."""
    import clusterwright

    for module in pkgutil.walk_packages(clusterwright.__path__, "clusterwright."):
        if ".recorder." not in module.name:
            importlib.import_module(module.name)


def in_a_process(work: Callable[[], int], *, before: int | None = None, after_s: float | None = None) -> int:
    """Do work in a forked process; kill it before its n-th operation on the disk, or after seconds; return its code."""

    def watched() -> int:
        count = 0

        def dying(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal count
            if event not in _DISK or (event == "open" and not ((arguments[2] or 0) & _WRITING)):
                return
            count += 1
            if count == before:
                os.kill(os.getpid(), signal.SIGKILL)

        if before is not None:
            sys.addaudithook(dying)
        return work()

    child = forked(watched)
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    return finished(child).code


def build_program(blueprint: Path, out: Path) -> int:
    """Run the command `build`; return its exit code."""
    return command_line(["build", str(blueprint), "-o", str(out), "--quiet"])


@cache
def build_files(blueprint: Path) -> Any:
    """Return the files that `build` writes, planned once."""
    from clusterwright.cli.planning import planned
    from clusterwright.outputs.deliverables import everything

    made = planned(blueprint, None)
    return everything(made.plan, made.facts, money=USD)


def build_write(blueprint: Path, out: Path) -> int:
    """Write what `build` writes, by its own way to the disk; return the exit code."""
    from clusterwright.errors import ClusterwrightError
    from clusterwright.outputs.folder import write

    try:
        write(out, build_files(blueprint))
    except ClusterwrightError as error:
        print(error.message, error.help, file=sys.stderr)
        return error.exit_code
    return 0


def kills(count: int, say: Callable[[str], None], first_number: int = 0) -> Counter[str]:
    """Kill `build` at as many moments; count what the next run lost, left over or refused.

    One in ten is the whole command; of the others the writing alone, with the same files.
    """
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        root = Path(name).resolve()
        first, second = root / "first.yaml", root / "second.yaml"
        first.write_text(BLUEPRINT)
        second.write_text(BLUEPRINT.replace("max_nodes: 8", "max_nodes: 2").replace("us-east-1", "us-east-2"))
        wanted = {}
        for one in (first, second):
            whole = root / f"whole-{one.stem}"
            if in_a_process(partial(build_program, one, whole)) not in (0, 1):
                raise FailedError(f"{one.stem} is not built")
            wanted[one] = snapshot(whole)
        whole_programs = count // 10
        while found["killed"] < count:
            if found["killed"] == whole_programs:
                for one in (first, second):
                    build_files(one)
            run = build_program if found["killed"] < whole_programs else build_write
            number = first_number + found["runs"]
            for what in _kill_once(root, wanted, run, number, found):
                say(f"kill:{number} {what}")
            if found["runs"] % 20 == 0:
                say(f"{found['runs']} runs: {dict(found)}")
    return found


def _kill_once(
    root: Path,
    wanted: dict[Path, dict[str, tuple[int, int, str]]],
    run: Callable[[Path, Path], int],
    number: int,
    found: Counter[str],
) -> Iterator[str]:
    """Kill a run and run again; yield what is wrong then."""
    chance = random.Random(f"kill:{number}")
    first, second = wanted
    place = root / "case"
    place.mkdir()
    (place / ".out.mine").write_text("the user's")
    out, existing = place / "out", number % 2 == 1
    mine = {".out.mine"}
    if existing:
        shutil.copytree(root / "whole-first", out, symlinks=True)
        (out / "mine.txt").write_text("the user's")
        (out / "aws" / ".hidden").write_text("the user's")
        mine |= {"out/mine.txt", "out/aws/.hidden"}
    # A new folder takes an operation for each file and folder, an existing one some more for each changed file.
    if number % 8 == 7:
        most_s = 4.0 if run is build_program else 0.3
        code = in_a_process(lambda: run(second, out), after_s=chance.uniform(0, most_s))
    else:
        most = len(wanted[second]) * (2 if existing else 1)
        code = in_a_process(lambda: run(second, out), before=chance.randint(1, most))
    found["killed"] += code == -signal.SIGKILL
    found["with a record left" if (out / ".writing").exists() or (place / ".out.partial").exists() else "whole"] += 1
    then = chance.choice((first, second))
    code = in_a_process(lambda: run(then, out))
    left = snapshot(place)
    if code not in (0, 1):
        found["refused"] += 1
        yield f"refused, exit {code}"
    lost = [one for one in mine if one not in left]
    lost += [one for one in wanted[then] if left.get(f"out/{one}") != wanted[then][one]]
    over = [one for one in left if one not in mine | {"out"} and one.removeprefix("out/") not in wanted[then]]
    if lost or over:
        yield f"lost {lost[:3]}, left over {over[:3]}"
    found["lost"] += bool(lost)
    found["left over"] += bool(over)
    found["runs"] += 1
    shutil.rmtree(place)


def main() -> None:
    """Run what is asked for, and print how the cases ended."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=0)
    parser.add_argument("--programs", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case, program and kill")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--only", help="KIND:NUMBER, with its traceback")
    parser.add_argument("--log", type=Path, help="also write what is printed to a file")
    asked = parser.parse_args()
    started = time.perf_counter()

    def say(line: str) -> None:
        text = f"{time.perf_counter() - started:8.0f} s  {line}"
        print(text, flush=True)
        if asked.log:
            with asked.log.open("a", encoding="utf-8", errors="replace") as log:
                log.write(text + "\n")

    if asked.only:
        kind, _, number = asked.only.partition(":")
        with surroundings() as root:
            (root / "case").mkdir()
            case = Case(chance=random.Random(asked.only), folder=root / "case", number=int(number))
            if kind == "program":
                arguments = arguments_of(case.chance, case.folder)
                print(arguments, *run_program(arguments, case.folder), sep="\n")
            else:
                KINDS[kind][0](case)
        return
    sys.addaudithook(WATCH)
    if asked.cases:
        _plan_json()
        for kind, ways in in_process(asked.cases, say, asked.first).items():
            say(f"{kind}: {dict(ways.most_common())}")
    if asked.programs:
        load_all()
        for how, times in sorted(programs(asked.programs, say, asked.first).items()):
            say(f"{how}: {times}")
    if asked.kills:
        load_all()
        say(f"kills: {dict(kills(asked.kills, say, asked.first))}")


if __name__ == "__main__":
    main()
