"""Writes the record of compare.py as tables of Markdown, and as a picture.

    python3 page.py record.json                                    prints the tables
    python3 page.py record.json docs/attention.md [--svg FILE]     writes them between the page's markers
"""

import argparse
import json
import math
import statistics
import sys
from html import escape
from typing import Any, Dict, List, Optional

BEGIN, END = "<!-- speeds of attention: python3 bench/attention/page.py RECORD docs/attention.md -->\n", "<!-- end of speeds of attention -->\n"
PEERS = {"flex": "FlexAttention", "flex_table": "FlexAttention, table", "sdpa": "SDPA, mask"}
HOWS = {"graph": "replayed as CUDA graphs", "called": "as called from Python"}
WHATS = ("forward", "backward")
DTYPES = {"bfloat16": "bf16", "float32": "fp32"}
Row = Dict[str, Any]


def seconds(row: Row, name: str, how: str, what: str) -> List[float]:
    """Returns the seconds of a contender's turns, none if it took none."""
    return row["contenders"].get(name, {}).get(f"{how} {what}", {}).get("seconds", [])


def median(row: Row, name: str, how: str, what: str) -> Optional[float]:
    """Returns the median of the turns. backward is both without forward."""
    if what == "backward":
        both, forward = median(row, name, how, "both"), median(row, name, how, "forward")
        return None if both is None or forward is None or both <= forward else both - forward
    turns = seconds(row, name, how, what)
    return statistics.median(turns) if turns else None


def ratio(row: Row, name: str, how: str, what: str) -> Optional[float]:
    """Returns the peer's seconds divided by mlc's: the median over rounds, and of backward the ratio of medians."""
    if what == "backward":
        theirs, ours = median(row, name, how, what), median(row, "mlc", how, what)
        return theirs / ours if theirs and ours else None
    ratios = [t / o for t, o in zip(seconds(row, name, how, what), seconds(row, "mlc", how, what))]
    return statistics.median(ratios) if ratios else None


def failure(row: Row, name: str, how: str) -> str:
    """Returns why a contender has no time, or "" if it has."""
    entry = row["contenders"].get(name, {})
    said = [entry.get("message")] + [entry.get(f"{how} {what}", {}).get("message") for what in ("forward", "both")]
    why = next((m for m in said if m), row.get("message") or "")
    return why or ("" if row["ended"] else "the contest did not end")


def table(head: List[str], lines: List[List[str]]) -> str:
    rule = ["---" if i < 2 else "---:" for i in range(len(head))]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in [head, rule, *lines])


def case(row: Row) -> List[str]:
    return [row["bias"], " × ".join(map(str, row["shape"]))]


def speeds(rows: List[Row], how: str, failures: List[str]) -> str:
    """Returns the table of times and ratios, and adds what failed."""
    def note(row: Row, name: str) -> str:
        why = failure(row, name, how) or failure(row, "mlc", how) and "mlc fails" or "forward took as long as forward and backward"
        if why not in failures:
            failures.append(why)
        return f"[{failures.index(why) + 1}]"

    def cell(row: Row, name: str) -> str:
        if name == "mlc":
            figures, form = [median(row, name, how, what) for what in WHATS], "{:,.1f}"
            figures = [f and f * 1e6 for f in figures]
        else:
            figures, form = [ratio(row, name, how, what) for what in WHATS], "{:.2f}"
        if figures == [None, None]:
            return f"fails {note(row, name)}"
        return " / ".join(note(row, name) if f is None else form.format(f) for f in figures)

    lines = [case(row) + [cell(row, name) for name in ("mlc", *PEERS)] for row in rows]
    return table(["bias", "B × H × T × D", "mlc, µs", *PEERS.values()], lines)


def memory(rows: List[Row]) -> str:
    def cell(row: Row, name: str) -> str:
        taken = row["contenders"].get(name, {}).get("memory")
        return "" if taken is None else f"{taken / 2**20:,.1f}"

    return table(["bias", "B × H × T × D", "mlc, MiB", *PEERS.values()], [case(row) + [cell(row, name) for name in ("mlc", *PEERS)] for row in rows])


def tables(record: Row) -> str:
    """Returns all tables of a record."""
    v = record["versions"]
    text, failures = "", []
    if record["measurement"]:
        rest = ", ".join(f"{name} {v[key]}" for name, key in (("driver", "driver"), ("PyTorch", "torch"), ("Triton", "triton"), ("mlc", "mlc")) if key in v)
        text += f"Measured on {v['device']}: {rest}.\n\n"
    else:
        text += "**No measurement:** results were compared at small sizes, without a GPU. Times and ratios mean nothing.\n\n"
    text += (
        "Cells are forward / backward. The column of mlc has microseconds, the others have the peer's time divided by mlc's:\n"
        "above 1 mlc is faster, below 1 it is slower. Both are medians over rounds in which all take turns. Masks are causal. The\n"
        "backward pass computes the gradients of q, k, v and all parameters of the bias; ALiBi has none.\n"
    )
    for dtype, short in DTYPES.items():
        rows = [row for row in record["contests"] if row["dtype"] == dtype]
        for how, title in HOWS.items():
            if any(f"{how} both" in entry for row in rows for entry in row["contenders"].values()):
                text += f"\n{short}, {title}:\n\n" + speeds(rows, how, failures)
        if any("memory" in entry for row in rows for entry in row["contenders"].values()):
            text += f"\n{short}, peak memory of forward and backward next to the inputs:\n\n" + memory(rows)
    if failures:
        text += "\n" + "".join(f"- [{i}] {why.replace('|', '/').replace('<', '&lt;')}\n" for i, why in enumerate(failures, 1))
    return text


def picture(record: Row) -> str:
    """Returns bars of the ratios of forward and backward together, bf16, on a logarithmic scale of 1/4 to 64, as SVG."""
    colors = dict(zip(PEERS, ("#4269d0", "#efb118", "#3ca951")))
    low, high, left, width, step = 0.25, 64, 190, 420, 12
    rows = [row for row in record["contests"] if row["dtype"] == "bfloat16"]
    how = "graph" if record["measurement"] else "called"

    def x(value: float) -> float:
        value = min(max(value, low), high)
        return left + width * math.log(value / low) / math.log(high / low)

    parts: List[str] = []
    y = 30
    for i, (peer, title) in enumerate(PEERS.items()):
        parts.append(f'<rect x="{left + 145 * i}" y="6" width="10" height="10" fill="{colors[peer]}"/><text x="{left + 145 * i + 14}" y="15">{escape(title)}</text>')
    for row in rows:
        parts.append(f'<text x="{left - 8}" y="{y + 1.5 * step + 3:g}" text-anchor="end">{escape(" ".join(case(row)))}</text>')
        for peer in PEERS:
            value = ratio(row, peer, how, "both")
            if value is None:
                parts.append(f'<text x="{x(1) + 4:.1f}" y="{y + 9}" fill="{colors[peer]}">fails</text>')
            else:
                a, b = sorted((x(1), x(value)))
                parts.append(f'<rect x="{a:.1f}" y="{y}" width="{max(b - a, 1):.1f}" height="{step - 2}" fill="{colors[peer]}"/>'
                             f'<text x="{b + 4:.1f}" y="{y + 9}">{value:.2f}</text>')
            y += step
        y += 8
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32, 64]
    lines = "".join(f'<path d="M{x(t):.1f} 24V{y}" stroke="{"#555" if t == 1 else "#ddd"}"/><text x="{x(t):.1f}" y="{y + 14}" text-anchor="middle">{t:g}</text>' for t in ticks)
    note = "PyTorch's time divided by mlc's, forward and backward, bf16" + ("" if record["measurement"] else " (no measurement)")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 {y + 38}" font-family="sans-serif" font-size="10">\n'
        f'<rect width="680" height="{y + 38}" fill="#fff"/>\n{lines}\n' + "\n".join(parts)
        + f'\n<text x="{left}" y="{y + 31}">{escape(note)}</text>\n</svg>\n'
    )


def replaced(text: str, between: str) -> str:
    """Returns a page with other text between its markers."""
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise SystemExit(f"page.py: the page has no place for the tables: it needs the lines\n{BEGIN}{END}")
    return before + BEGIN + between + END + after


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes a record of compare.py as Markdown.")
    parser.add_argument("record")
    parser.add_argument("page", nargs="?", help="page to write the tables to (default: standard output)")
    parser.add_argument("--svg", help="file for the picture")
    options = parser.parse_args()
    with open(options.record, encoding="utf-8") as file:
        record = json.load(file)
    if options.page:
        if not record["measurement"]:
            raise SystemExit(f"page.py: {options.record} measures nothing, so no page may have it")
        with open(options.page, encoding="utf-8") as file:
            text = replaced(file.read(), tables(record))
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(tables(record))
    if options.svg:
        with open(options.svg, "w", encoding="utf-8") as file:
            file.write(picture(record))


if __name__ == "__main__":
    main()
