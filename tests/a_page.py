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
