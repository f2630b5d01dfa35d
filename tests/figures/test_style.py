from pathlib import Path

import synthetic

from ict_core.config import load_methods
from ict_core.figures._panels import handles, label, style


def test_known_variants_differ_in_colour_and_marker():
    styles = [style(v) for v in synthetic.VARIANTS]
    assert len({s.colour for s in styles}) == len({s.marker for s in styles}) == len(styles)


def test_an_unknown_variant_keeps_a_spare_style():
    assert style("wasserstein-10") == style("wasserstein-10")
    known = {(s.colour, str(s.line)) for s in map(style, ["base", *synthetic.VARIANTS])}
    assert all((style(f"new-{i}").colour, str(style(f"new-{i}").line)) not in known for i in range(60))
    assert len({style(f"new-{i}") for i in range(60)}) > 10


def test_labels():
    assert [label(v) for v in ("base", "grpo", "ict-10", "entropy-20", "ict-loo-10", "plain")] == [
        "Base",
        "GRPO",
        "ICT 10 %",
        "20-Entropy",
        "Ict-loo 10 %",
        "plain",
    ]


def test_a_percent_in_a_label_is_what_the_method_keeps():
    for variant, method in load_methods(Path(__file__).resolve().parents[2] / "configs/methods").items():
        if label(variant).endswith(" %"):
            stated = method.model_dump(mode="json")
            kept = method.percent_kept(stated) or 100 * stated["probability"]  # of a draw for each token
            assert label(variant).endswith(f" {kept:g} %"), variant


def test_legend_entries_carry_the_style():
    line, base = handles(["ict-10", "base"], "filled")
    assert line.get_color() == line.get_markerfacecolor() == style("ict-10").colour and line.get_marker() == "D"
    assert base.get_marker() == "None"
    assert handles(["ict-10"], "lines")[0].get_marker() == "None"
    hollow, alone = handles(["ict-10"], "open")[0], handles(["ict-10"], "markers")[0]
    assert hollow.get_markerfacecolor() == alone.get_markerfacecolor() == "white"
    assert (hollow.get_linestyle(), alone.get_linestyle()) == ("-", "None")
