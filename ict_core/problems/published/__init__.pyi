from ._item import Item as Item
from ._item import Row as Row
from ._item import content_id as content_id
from ._item import label as label
from ._item import number as number
from ._item import text as text
from ._load import check_access as check_access
from ._load import load_problems as load_problems
