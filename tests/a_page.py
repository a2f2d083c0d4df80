"""A reader of HTML pages, which no test needs a browser for."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """Collects what matters of a page, and checks that tags are closed in order."""

    VOID = frozenset({"meta", "br", "img", "link", "use", "path", "rect"})

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.loaded, self.text, self.tags = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.loaded += [value for name, value in attrs if name in ("src", "href", "xlink:href", "data", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


class Tables(HTMLParser):
    """Collects the cells of every table, row by row, heads first."""

    def __init__(self):
        super().__init__()
        self.found, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.found.append([])
        elif tag == "tr":
            self.found[-1].append([])
        elif tag in ("td", "th"):
            self.found[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][-1][-1] += data


def tables_of(source):
    """The tables of a page: for each a list of rows, each of which is a list of cells."""
    reader = Tables()
    reader.feed(source)
    reader.close()
    return reader.found
