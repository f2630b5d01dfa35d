"""What `ict verify` prints."""

from collections.abc import Sequence

from tabulate import tabulate

from ict_core.tools.verify.compare import Compared

_LISTED = 20


def changes_page(changes: Sequence[str]) -> str:
    """What has changed since the cell was made; nothing where nothing has."""
    if not changes:
        return ""
    lines = [f"  {change}" for change in changes[:_LISTED]]
    if len(changes) > _LISTED:
        lines.append(f"  and {len(changes) - _LISTED} more")
    return "\n".join(["Changed since the cell was made, so that a difference would prove nothing:", *lines, "", ""])


def verify_page(rows: Sequence[Compared]) -> str:
    """A line for each thing that was compared."""
    body = [(r.what, r.stored, r.again, "yes" if r.equal else "NO", r.difference) for r in rows]
    return tabulate([("what", "stored", "again", "equal", ""), *body], tablefmt="plain", disable_numparse=True) + "\n"


def verdict(rows: Sequence[Compared], *, changed: bool, gpu: bool) -> str:
    """The last line."""
    other = [row.what for row in rows if not row.equal]
    if not other:
        return f"equal: all {len(rows)} are the same, bit by bit"
    told = f"different: {', '.join(other)}"
    if changed:
        told += "; not the same code, configuration, packages or machine made both, as said above"
    if gpu:
        told += "; on a GPU the same bits are not promised (docs/statistics.md, 'The same seed again')"
    return told
