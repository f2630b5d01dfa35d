from ._panels import RC as RC
from ._panels import draw_note as draw_note
from ._panels import sentence as sentence
from ._registry import FIGURES as FIGURES
from ._registry import draw as draw
from ._registry import note as note
from ._registry import reads as reads
from ._write import write as write
